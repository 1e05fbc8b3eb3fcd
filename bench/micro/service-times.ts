/*
 * `node bench/micro/service-times.ts`: what kinds of requests cost a worker, in microseconds of CPU: measured here without a
 * transport, and with that of the bare server as `docs/performance.json` has it. Writes `bench/sim/service-times.json`, by which
 * `npm run sim` plays high load.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createDialects } from '../../src/app/dialects.ts';
import { createGateway } from '../../src/app/gateway.ts';
import { load } from '../../src/app/load.ts';
import { silentAudit } from '../../src/app/open-audit.ts';
import { createLiveFigures } from '../../src/control/live/live-figures.ts';
import { HeaderList, type HeaderPair } from '../../src/core/http.ts';
import { NO_PROTECTION } from '../../src/core/ports/budget-state.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import { NO_DIRECTORY } from '../../src/core/ports/directory-view.ts';
import { CONFIGURED_STAGES } from '../../src/core/ports/stage-view.ts';
import { createEngine } from '../../src/routing/engine.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { chatPayload } from '../payload.ts';
import { gatewayConfig } from '../setups/gateway-config.ts';
import { SERVICE_TIMES_FILE, type ServiceTimes } from '../sim/service-times.ts';

const [ROUNDS, CHUNKS] = [9, 100];
const LEVELS = 'surge: { levels: [ { actions: { refuse_n: {} } }, { actions: { buffer_streams: true } } ] }\n';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-micro-'));
const file = path.join(dir, 'tokenlat.yaml');
const places = { listen: 10001, admin: 10002, ops: 10003, model: 10004, socketDir: dir, redis: null };
fs.writeFileSync(file, gatewayConfig({ workers: 1, everything: true }, places) + LEVELS);
const { snapshot } = load(file);
let level = 0;
const gateway = createGateway({
  config: () => snapshot,
  stores: createMemoryStores({ clock: systemClock, ledger: snapshot.ledger }),
  dialects: createDialects({ templates: null }),
  worker: 0,
  workers: 1,
  log: createLog({ level: snapshot.telemetry.logLevel, destination: path.join(dir, 'log') }),
  metrics: createMetrics({ labelValues: snapshot.telemetry.labelValues }),
  figures: createLiveFigures({ clock: systemClock }),
  engine: createEngine(),
  stages: CONFIGURED_STAGES,
  surge: { arrived: () => {}, level: () => level },
  clock: systemClock,
  mayWatchBody: () => false,
  audit: silentAudit,
  keys: { find: () => null },
  directory: NO_DIRECTORY,
  protection: NO_PROTECTION,
  state: { kept: () => 'kept', epoch: () => null },
});
await gateway.prefetch(snapshot);

/** What a client asks for, and the pieces in which it is answered. */
interface Kind {
  readonly level: number;
  readonly times: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Null: it is refused. */
  readonly answer: { readonly type: string; readonly pieces: readonly Buffer[] } | null;
}

const said = Array.from({ length: CHUNKS }, (_, at) => `word${at} `);
const frame = { id: 'chatcmpl-bench', created: 1_764_480_000, model: 'bench-model' };
const usage = { prompt_tokens: 24, completion_tokens: CHUNKS, total_tokens: 24 + CHUNKS };
const event = (data: object): string =>
  `data: ${JSON.stringify({ ...frame, object: 'chat.completion.chunk', ...data })}\n\n`;
const choice = (delta: object, finish: string | null): object => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const whole = {
  type: 'application/json',
  pieces: [
    Buffer.from(
      JSON.stringify({
        ...frame,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: said.join('') }, finish_reason: 'stop' }],
        usage,
      }),
    ),
  ],
};
const stream = {
  type: 'text/event-stream',
  pieces: [
    ...said.map((content) => Buffer.from(event(choice({ content }, null)))),
    Buffer.from(`${event(choice({}, 'stop'))}${event({ choices: [], usage })}data: [DONE]\n\n`),
  ],
};
const KINDS: Readonly<Record<keyof ServiceTimes['inside'], Kind>> = {
  whole: { level: 0, times: 2000, fields: {}, answer: whole },
  refused: { level: 1, times: 2000, fields: { n: 3 }, answer: null },
  stream: { level: 0, times: 300, fields: { stream: true }, answer: stream },
  buffered: { level: 2, times: 1000, fields: { stream: true }, answer: whole },
};

const { path: target, headers, body: usual } = chatPayload({ name: 'plain', promptBytes: 200 });
const nothing = Buffer.alloc(0);
let count = 0;

async function send({ fields, answer }: Kind): Promise<void> {
  count += 1;
  const body = Buffer.from(JSON.stringify({ ...(JSON.parse(usual.toString()) as object), ...fields }));
  const pairs: readonly HeaderPair[] = [
    [':method', 'POST'],
    [':path', target],
    [':scheme', 'http'],
    ...Object.entries(headers),
    ['content-length', String(body.length)],
    ['x-request-id', `request-${count}`],
  ];
  const head = { method: 'POST', path: target, headers: new HeaderList(pairs) };
  const exchange = gateway.requestFactory({}, { push() {} });
  await exchange.onRequestHead(head, false);
  const reply = await exchange.onRequestBody(body, true);
  if (answer === null) {
    if (reply.kind !== 'respond' || reply.response.status !== 429) throw new Error(`not refused: ${reply.kind}`);
    exchange.close();
    return;
  }
  if (reply.kind !== 'forward') throw new Error(`not sent on: ${JSON.stringify(reply)}`);
  const told = reply.mutation.metadata?.['tokenlat.request'] as { readonly id: string } | undefined;
  const attempt = gateway.attempt(told?.id ?? '', 'bench-backend', true);
  if (attempt === null) throw new Error('the request is not known');
  await attempt.onRequestHead(head);
  const answerHead: readonly HeaderPair[] = [
    [':status', '200'],
    ['content-type', answer.type],
  ];
  exchange.onResponseHead({ status: 200, headers: new HeaderList(answerHead) }, false);
  for (const piece of answer.pieces) exchange.onResponseBody(piece, false);
  const end = exchange.onResponseBody(nothing, true);
  if (end.kind !== 'send' || !end.end) throw new Error(`no end: ${JSON.stringify(end)}`);
  attempt.close();
  exchange.close();
}

async function micros(kind: Kind): Promise<number> {
  level = kind.level;
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let time = 0; time < kind.times; time += 1) await send(kind);
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / kind.times);
  }
  return Math.round(rounds.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN);
}

/** CPU of the bare server a request, microseconds. */
function echoOf(workload: string): number {
  const text = fs.readFileSync(path.join(import.meta.dirname, '../../docs/performance.json'), 'utf8');
  const { workloads } = JSON.parse(text) as {
    readonly workloads: readonly {
      readonly name: string;
      readonly rows: readonly {
        readonly setup: string;
        readonly cpu_us: { readonly ext_proc?: { readonly median: number } };
      }[];
    }[];
  };
  const row = workloads.find(({ name }) => name === workload)?.rows.find(({ setup }) => setup === 'echo');
  if (row?.cpu_us.ext_proc === undefined) throw new Error(`no figure of the bare server for ${workload}`);
  return Math.round(row.cpu_us.ext_proc.median);
}

const inside: Record<string, number> = {};
for (const [name, kind] of Object.entries(KINDS)) inside[name] = await micros(kind);
const times: ServiceTimes = {
  measured: new Date().toISOString().slice(0, 10),
  machine: `${os.cpus()[0]?.model ?? 'unknown'}, Node ${process.versions.node}`,
  chunks: CHUNKS,
  inside: inside as ServiceTimes['inside'],
  transport: { whole: echoOf('plain'), stream: echoOf('stream100') },
};
fs.writeFileSync(SERVICE_TIMES_FILE, `${JSON.stringify(times, null, 2)}\n`);
process.stdout.write(`${JSON.stringify(times, null, 2)}\n`);
fs.rmSync(dir, { recursive: true, force: true });
process.exit();
