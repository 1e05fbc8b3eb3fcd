import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDialects } from '../../src/app/dialects.ts';
import { createGateway } from '../../src/app/gateway.ts';
import { load } from '../../src/app/load.ts';
import { openAudit, silentAudit } from '../../src/app/open-audit.ts';
import { startLocalRedis } from '../../src/app/redis-process.ts';
import { createLiveFigures } from '../../src/control/live/live-figures.ts';
import { HeaderList, type HeaderPair, type RequestHead } from '../../src/core/http.ts';
import type { AttemptExchange, RequestReply } from '../../src/core/exchange.ts';
import { NO_PROTECTION } from '../../src/core/ports/budget-state.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import { NO_DIRECTORY } from '../../src/core/ports/directory-view.ts';
import { CONFIGURED_STAGES } from '../../src/core/ports/stage-view.ts';
import { NO_SURGE, type SurgeView } from '../../src/core/ports/surge.ts';
import { createEngine } from '../../src/routing/engine.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import { createRedisStores } from '../../src/store/redis/redis-stores.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { asTenant, chatPayload, type Payload } from '../payload.ts';
import { gatewayConfig, type LimitsOn } from '../setups/gateway-config.ts';

type Gateway = ReturnType<typeof createGateway>;

export interface GatewayShape {
  /** Limits, filter, CEL route, prices, audit and a log line; or none of these. */
  readonly everything: boolean;
  /** A Redis of its own, instead of memory. */
  readonly redis?: boolean;
  /** False: no audit is kept, whatever the configuration says. */
  readonly audit?: boolean;
  /** Sections that the configuration has besides, for files in `dir`. */
  readonly more?: (dir: string) => string;
  readonly surge?: SurgeView;
  /** As the bench's setups have them. */
  readonly limits?: LimitsOn;
  readonly tenants?: number;
}

/** A gateway without its wire. */
export interface GatewayUnderTest {
  readonly gateway: Gateway;
  /** Null in memory. */
  readonly redisPid: number | null;
  readonly close: () => Promise<void>;
}

/** What the gateway under test does with one request. */
export interface FlowShape {
  readonly everything: boolean;
  readonly redis: boolean;
  /** An audit log also where not everything is on. */
  readonly audit: boolean;
  readonly promptBytes: number;
  /** Chunks of a streamed answer; 0 for a whole one. */
  readonly chunks: number;
  readonly limits: LimitsOn;
  /** Requests come in turn from so many tenants; 0 for the one of most setups. */
  readonly tenants: number;
}

/** A gateway without its wire, and one request through it from its head to its settlement. */
export interface FlowUnderTest {
  request(): Promise<void>;
  readonly redisPid: number | null;
  close(): Promise<void>;
}

/** What the model server says, piece by piece. */
export interface Answer {
  readonly type: string;
  readonly pieces: readonly Buffer[];
}

const AUDIT = (dir: string): string => `
audit: { dir: ${JSON.stringify(join(dir, 'audit'))}, key_file: ${JSON.stringify(join(dir, 'audit.key'))}, checkpoint: { dir: ${JSON.stringify(join(dir, 'checkpoints'))}, redis: false } }
`;
const READY_MS = 5000;

export async function openGateway(shape: GatewayShape): Promise<GatewayUnderTest> {
  const {
    everything,
    audit: keepsAudit = true,
    more = () => '',
    surge = NO_SURGE,
    limits = 'some',
    tenants = 0,
  } = shape;
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-micro-'));
  const redis = shape.redis === true ? await startLocalRedis(join(dir, 'redis'), () => {}) : null;
  const file = join(dir, 'tokenlat.yaml');
  const places = { listen: 10001, admin: 10002, ops: 10003, model: 10004, socketDir: dir, redis: redis?.url ?? null };
  for (const folder of ['audit', 'checkpoints']) mkdirSync(join(dir, folder));
  writeFileSync(file, gatewayConfig({ workers: 1, everything, limits, tenants }, places) + more(dir));
  const { snapshot } = load(file);
  const log = createLog({ level: snapshot.telemetry.logLevel, destination: join(dir, 'log') });
  const metrics = createMetrics({ labelValues: snapshot.telemetry.labelValues });
  const audit = keepsAudit ? openAudit(snapshot, { worker: 0, log, metrics, redis: null }) : silentAudit;
  const stores =
    snapshot.redis === null
      ? createMemoryStores({ clock: systemClock, ledger: snapshot.ledger })
      : createRedisStores({ redis: snapshot.redis, ledger: snapshot.ledger, log, metrics });
  const gateway = createGateway({
    config: () => snapshot,
    stores,
    dialects: createDialects({ templates: null }),
    worker: 0,
    workers: 1,
    log,
    metrics,
    figures: createLiveFigures({ clock: systemClock }),
    engine: createEngine(),
    surge,
    clock: systemClock,
    mayWatchBody: () => false,
    audit,
    keys: { find: () => null },
    directory: NO_DIRECTORY,
    protection: NO_PROTECTION,
    stages: CONFIGURED_STAGES,
    state: { kept: () => 'kept', epoch: () => null },
  });
  await stores.ready(READY_MS);
  await gateway.prefetch(snapshot);
  return {
    gateway,
    redisPid: redis?.pid ?? null,
    async close() {
      await gateway.live.finished();
      await stores.flush(READY_MS);
      await audit.close();
      await stores.close();
      metrics.close();
      await redis?.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export async function openFlow(shape: FlowShape): Promise<FlowUnderTest> {
  const { everything, audit, promptBytes, chunks, tenants } = shape;
  const { gateway, redisPid, close } = await openGateway({
    everything,
    redis: shape.redis,
    limits: shape.limits,
    tenants,
    ...(audit && !everything ? { more: AUDIT } : {}),
  });
  const payload = chatPayload({
    name: 'plain',
    promptBytes,
    ...(chunks > 0 ? { stream: { chunks, paceMs: 2 } } : {}),
  });
  const payloads = tenants === 0 ? [payload] : Array.from({ length: tenants }, (_, at) => asTenant(payload, at));
  const senders = payloads.map((each) => sender(gateway, each, answerOf(chunks)));
  let turn = 0;
  return {
    redisPid,
    close,
    async request() {
      const send = senders[turn];
      turn = (turn + 1) % senders.length;
      await send?.();
    },
  };
}

const nothing = Buffer.alloc(0);
const USAGE = '"usage":{"prompt_tokens":24,"completion_tokens":100,"total_tokens":124}';
const WHOLE = `{"id":"chatcmpl-bench","object":"chat.completion","created":1764480000,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}],${USAGE}}`;

function chunk(delta: string, finish: string | null, rest = ''): string {
  return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1764480000,"model":"bench-model","choices":[{"index":0,"delta":${delta},"finish_reason":${JSON.stringify(finish)}}]${rest}}\n\n`;
}

function answerOf(chunks: number): Answer {
  if (chunks === 0) return { type: 'application/json', pieces: [Buffer.from(WHOLE)] };
  const words = Array.from({ length: chunks - 2 }, (_, at) => chunk(`{"content":" word ${at}"}`, null));
  const last = `${chunk('{}', 'stop')}data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1764480000,"model":"bench-model","choices":[],${USAGE}}\n\ndata: [DONE]\n\n`;
  const texts = [chunk('{"role":"assistant","content":""}', null), ...words, last];
  return { type: 'text/event-stream', pieces: texts.map((text) => Buffer.from(text)) };
}

let count = 0;

/** Sends a request through the gateway and has it answered; `answer` null: it must be refused with 429. */
export function sender(
  gateway: Gateway,
  { path, headers, body }: Pick<Payload, 'path' | 'headers' | 'body'>,
  answer: Answer | null,
): () => Promise<void> {
  const fields: readonly HeaderPair[] = [
    [':method', 'POST'],
    [':path', path],
    [':scheme', 'http'],
    ...Object.entries(headers),
    ['content-length', String(body.length)],
  ];
  const answerFields: readonly HeaderPair[] = [
    [':status', '200'],
    ['content-type', answer?.type ?? ''],
  ];
  const answerHead = { status: 200, headers: new HeaderList(answerFields) };
  return async () => {
    count += 1;
    const head = { method: 'POST', path, headers: new HeaderList([...fields, ['x-request-id', `request-${count}`]]) };
    const exchange = gateway.requestFactory({}, { push() {} });
    await exchange.onRequestHead(head, false);
    const reply = await exchange.onRequestBody(body, true);
    if (answer === null) {
      if (reply.kind !== 'respond' || reply.response.status !== 429) throw new Error(`not refused: ${reply.kind}`);
      exchange.close();
      return;
    }
    if (reply.kind !== 'forward') throw new Error(`not sent on: ${JSON.stringify(reply)}`);
    const attempt = reply.body === undefined ? await openTry(gateway, reply, head) : null;
    exchange.onResponseHead(answerHead, false);
    for (const piece of answer.pieces) exchange.onResponseBody(piece, false);
    const end = exchange.onResponseBody(nothing, true);
    if (end.kind !== 'send' || !end.end) throw new Error(`no answer: ${JSON.stringify(end)}`);
    attempt?.close();
    exchange.close();
  };
}

/** The stream of a try, where its request was not made yet. */
async function openTry(
  gateway: Gateway,
  { mutation }: Extract<RequestReply, { readonly kind: 'forward' }>,
  head: RequestHead,
): Promise<AttemptExchange> {
  const told = mutation.metadata?.['tokenlat.request'] as { readonly id: string } | undefined;
  const attempt = gateway.attempt(told?.id ?? '', 'bench-backend', true);
  if (attempt === null) throw new Error('the request is not known');
  await attempt.onRequestHead(head);
  return attempt;
}
