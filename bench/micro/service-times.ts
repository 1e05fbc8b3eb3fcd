/*
 * `node bench/micro/service-times.ts`: what kinds of requests cost a worker, in microseconds of CPU: measured here without a
 * transport, and with that of the bare server as `docs/performance.json` has it. Writes `bench/sim/service-times.json`, by which
 * `npm run sim` plays high load.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chatPayload } from '../payload.ts';
import { median } from '../sim/engine/figures.ts';
import { SERVICE_TIMES_FILE, type ServiceTimes } from '../sim/service-times.ts';
import { type Answer, openGateway, sender } from './flow-under-test.ts';

const [ROUNDS, CHUNKS] = [9, 100];
const LEVELS = 'surge: { levels: [ { actions: { refuse_n: {} } }, { actions: { buffer_streams: true } } ] }\n';

let level = 0;
const { gateway, close } = await openGateway({
  everything: true,
  audit: false,
  more: () => LEVELS,
  surge: { arrived: () => {}, level: () => level },
});

/** What a client asks for, and the pieces in which it is answered. */
interface Kind {
  readonly level: number;
  readonly times: number;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Null: it is refused. */
  readonly answer: Answer | null;
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

const usual = chatPayload({ name: 'plain', promptBytes: 200 });

async function micros({ level: acts, times, fields, answer }: Kind): Promise<number> {
  level = acts;
  const body = Buffer.from(JSON.stringify({ ...(JSON.parse(usual.body.toString()) as object), ...fields }));
  const send = sender(gateway, { ...usual, body }, answer);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let time = 0; time < times; time += 1) await send();
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / times);
  }
  return Math.round(median(rounds));
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
await close();
process.exit();
