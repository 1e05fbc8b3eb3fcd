import assert from 'node:assert/strict';
import type { ChatRequest } from '../core/chat-request.ts';
import { nameOf } from '../core/places.ts';
import type { RequestContext } from '../core/context.ts';
import type { BackendDialect, ChatEvent, ChunkFacts, ClientDialect, ResponseDecoder } from '../core/dialect.ts';
import type { Ending } from '../core/ending.ts';
import { type ErrorCode, GatewayError } from '../core/error.ts';
import type { RequestPort, RequestReply, ResponseReply } from '../core/exchange.ts';
import { HeaderList, type HeaderPair, type LocalResponse, type RequestHead, type ResponseHead } from '../core/http.ts';
import { newRequestId, operationOf } from '../core/ids.ts';
import { type MicroUnits, microUnits } from '../core/money.ts';
import type { LiveTry } from '../core/ports/live.ts';
import type { TryOutcome, TryWork, WatchedTry } from '../core/ports/try-watch.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Backend, Deployment, Snapshot } from '../core/snapshot.ts';
import type { Attempt } from '../core/station.ts';
import { STATION_NAMES, type StationName, Trail } from '../core/trail.ts';
import type { Usage } from '../core/usage.ts';
import { createAdapt } from '../stations/adapt/adapt.ts';
import type { FlowOptions } from './flow-options.ts';
import { LiveRequests } from './live-requests.ts';
import type { AnyStation } from './pipeline.ts';
import { createAsError } from './as-error.ts';
import { createRefusal } from './refusal.ts';
import { RequestFlow } from './request-flow.ts';
import { createServices } from './services.ts';

/** Lets every promise that can settle do so. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

export function usageOf(prompt: number, completion: number): Usage {
  return { prompt, cached: 0, completion, reasoning: 0, source: 'upstream' };
}

export function facts(over: Partial<ChunkFacts> = {}): ChunkFacts {
  return { content: false, outputChars: 0, finishReason: null, usage: null, usageOnly: false, ...over };
}

/** An upstream's bytes as words between bars: `out:hello|fin:|usage:3,5|done`. */
export function eventsOf(chunk: Buffer): ChatEvent[] {
  return chunk.toString().split('|').map(eventOf);
}

function eventOf(word: string): ChatEvent {
  const [kind, text = '', figures] = word.split(':') as [string, string?, string?];
  const data = Buffer.from(word);
  const numbers = (from: string | undefined): Usage | null => {
    const [prompt, completion] = (from ?? '').split(',').map(Number);
    return prompt === undefined || completion === undefined ? null : usageOf(prompt, completion);
  };
  switch (kind) {
    case 'role':
      return { kind: 'chunk', data, facts: facts() };
    case 'out':
      return { kind: 'chunk', data, facts: facts({ content: true, outputChars: text.length }) };
    case 'fin':
      return { kind: 'chunk', data, facts: facts({ finishReason: 'stop' }) };
    case 'usage':
      return { kind: 'chunk', data, facts: facts({ usage: numbers(text), usageOnly: true }) };
    case 'answer': {
      const told = facts({ content: true, outputChars: text.length, finishReason: 'stop', usage: numbers(figures) });
      return { kind: 'answer', data, facts: told };
    }
    case 'ping':
      return { kind: 'comment', text: data };
    case 'error':
      return { kind: 'error', error: new GatewayError(text as ErrorCode, 'told'), usage: numbers(figures) };
    case 'done':
      return { kind: 'end', clean: true };
    case 'cut':
      return { kind: 'end', clean: false };
    default:
      throw new Error(`secret of a decoder: ${word}`);
  }
}

/** Reads such words; bytes that are over without `done` are clean after a finish reason or a whole answer. */
export function fakeDecoder(): ResponseDecoder {
  let finished = false;
  let over = false;
  return {
    push(chunk) {
      if (over) return [];
      const events = eventsOf(chunk);
      const last = events.findIndex((event) => event.kind === 'end' || event.kind === 'error');
      over = last !== -1;
      finished ||= events.some((event) => 'facts' in event && event.facts.finishReason !== null);
      return over ? events.slice(0, last + 1) : events;
    },
    end: () => (over ? [] : [{ kind: 'end', clean: finished }]),
  };
}

export const backendDialect: BackendDialect = {
  name: 'fake',
  encode: (request, deployment) => ({
    path: '/chat/completions',
    headers: [],
    body: Buffer.from(`to ${deployment.upstreamModel}: ${request.raw.toString()}`),
  }),
  decoder: () => fakeDecoder(),
};

/** A client that reads what was said as one line an event, and whose body is JSON of the request's own fields. */
export const clientDialect: ClientDialect = {
  name: 'fake',
  parse(_head, body) {
    const text = body.toString();
    if (text === 'bad') throw new GatewayError('invalid_json', 'Not JSON.', { param: null });
    if (text === 'bug') throw new TypeError('secret of a parser');
    return requestOf(JSON.parse(text === '' ? '{}' : text) as Partial<ChatRequest>, body);
  },
  encoder({ stream, includeUsage }) {
    let over = false;
    return {
      contentType: stream ? 'text/event-stream' : 'application/json',
      write(events) {
        const out: Buffer[] = [];
        for (const event of events) {
          if (over) break;
          if (event.kind === 'chunk' && event.facts.usageOnly && !includeUsage) continue;
          if (event.kind === 'chunk' && event.data.includes('unwritable')) throw new Error('secret of an encoder');
          if (event.kind === 'chunk' || event.kind === 'answer') out.push(Buffer.from(`${event.data.toString()}\n`));
          if (event.kind === 'comment') out.push(Buffer.from('ping\n'));
          if (event.kind === 'error') out.push(Buffer.from(`!${event.error.code}\n`));
          if (event.kind === 'error' || event.kind === 'end') over = true;
          if (stream && over) out.push(Buffer.from('[DONE]\n'));
        }
        return out;
      },
    };
  },
  error: (error) => Buffer.from(JSON.stringify(error)),
  cutShort: (_encoder, usage) => [Buffer.from(`length:${usage?.completion ?? 'none'}\n`), Buffer.from('[DONE]\n')],
};

export function requestOf(over: Partial<ChatRequest> = {}, raw: Buffer = Buffer.from('{}')): ChatRequest {
  return {
    endpoint: 'chat',
    raw,
    json: {},
    spans: new Map(),
    model: 'm',
    stream: false,
    includeUsage: false,
    maxOutputTokens: null,
    n: 1,
    texts: [],
    promptTokens: 7,
    ...over,
  };
}

export function backendOf(name: string, over: Partial<Backend> = {}): Backend {
  return {
    name,
    dialect: 'fake',
    endpoints: [{ host: `${name}.test`, port: 8000, weight: 1 }],
    basePath: '/v1',
    tls: false,
    http2: false,
    health: null,
    credentials: [],
    headers: [],
    options: {},
    ...over,
  };
}

export function deploymentOf(backend: string, over: Partial<Deployment> = {}): Deployment {
  return {
    id: `m@${backend}`,
    model: 'm',
    backend: backendOf(backend),
    upstreamModel: `m-at-${backend}`,
    weight: 1,
    chatTemplate: null,
    price: {
      currency: 'EUR',
      promptPerMtok: microUnits(1_000_000),
      cachedPerMtok: 0 as MicroUnits,
      completionPerMtok: microUnits(2_000_000),
    },
    profile: {
      p95Ms: null,
      firstTokenMs: null,
      tokenMs: null,
      quality: 1,
      qualityFor: new Map(),
      context: 1000,
      defaultMaxTokens: 10,
    },
    concurrency: null,
    costTier: 'economy',
    ...over,
  };
}

export function configOf(over: object = {}): Snapshot {
  return {
    generation: 1,
    limits: { bodyBytes: 100, responseBytes: 1000, eventBytes: 1000, headerBytes: 1000, jsonDepth: 8 },
    timeouts: { requestMs: 30_000, maxRequestMs: 60_000, idleMs: 1_000_000, connectMs: 1 },
    retry: { retries: 2, baseMs: 1, maxMs: 1, retryAfterCapMs: 1 },
    responses: { model: 'requested' },
    ledger: { keepMs: 5 },
    backends: new Map(),
    aliases: new Map(),
    routes: [],
    models: new Map([['m', { name: 'm', stage: 'full' }]]),
    ...over,
  } as unknown as Snapshot;
}

export function headOf(headers: readonly HeaderPair[] = [], over: Partial<RequestHead> = {}): RequestHead {
  return { method: 'POST', path: '/v1/chat/completions', headers: new HeaderList(headers), ...over };
}

export function answerHead(status = 200, headers: readonly HeaderPair[] = []): ResponseHead {
  return { status, headers: new HeaderList(headers) };
}

const PRINCIPAL = { subject: 'ann', tenant: 'acme', businessLine: 'x', limits: [], models: ['*'], scopes: new Set() };

/** A whole context, as it stands when every station has passed it. */
export function contextOf(over: object = {}, deployments: readonly Deployment[] = [deploymentOf('a')]): RequestContext {
  const id = newRequestId(0);
  return {
    id,
    operation: operationOf(id),
    shownId: 'shown',
    head: headOf(),
    endpoint: 'chat',
    dialect: clientDialect,
    config: configOf(),
    startedAt: 0,
    deadline: 30_000,
    time: 1_700_000_000_000,
    signal: new AbortController().signal,
    trail: new Trail(),
    principal: PRINCIPAL,
    request: requestOf({ stream: true }),
    admission: { kind: 'held', limits: [], reservedTokens: 17 },
    decision: decisionOf(deployments),
    prompt: { verdict: 'clean' },
    ...over,
  } as unknown as RequestContext;
}

function decisionOf(deployments: readonly Deployment[]) {
  const candidates = deployments.map((deployment) => ({ deployment, reason: 'explicit' }));
  return { route: { id: 'r' }, reason: 'model', candidates, cached: false, mayReplay: true };
}

export function attemptOf(deployment: Deployment, number = 1, last = true): Attempt {
  return { number, candidate: { deployment, reason: 'explicit' }, last };
}

type Moment = 'head' | 'run' | 'place' | 'attempt' | 'finish';
export type Behaviour = Partial<Record<`${StationName}.${Moment}`, (ctx: RequestContext) => unknown>>;

export interface Bench {
  readonly options: FlowOptions;
  /** What the stations were asked, in order. */
  readonly calls: string[];
  readonly endings: Ending[];
  readonly anomalies: string[];
  /** Deployments that metrics were told of as having died with a request. */
  readonly replayed: readonly string[];
  readonly logged: string[];
  /** Streams open by the metrics. */
  readonly streams: { request: number; attempt: number };
  readonly clock: { at: number };
  /** What whoever counts what runs was told. */
  readonly tries: readonly LiveRecord[];
  readonly watched: readonly WatchedRecord[];
}

export interface LiveRecord {
  readonly where: string;
  readonly ends: Parameters<LiveTry['end']>[0][];
}

function beginOf(tries: LiveRecord[], where: string): LiveTry {
  const record: LiveRecord = { where, ends: [] };
  tries.push(record);
  return { end: (outcome) => void record.ends.push(outcome) };
}

export interface WatchedRecord {
  readonly id: string;
  readonly work: TryWork;
  readonly told: (TryOutcome | 'first token')[];
}

function watchedOf(watched: WatchedRecord[], id: string, work: TryWork): WatchedTry {
  const record: WatchedRecord = { id, work, told: [] };
  watched.push(record);
  return { firstToken: () => void record.told.push('first token'), end: (outcome) => void record.told.push(outcome) };
}

export interface BenchOptions {
  readonly behave?: Behaviour;
  readonly deployments?: readonly Deployment[];
  readonly config?: object;
  readonly start?: number;
  readonly mayWatchBody?: boolean;
}

const GIVES: Behaviour = {
  'authenticate.head': () => ({ principal: PRINCIPAL }),
  'schedule.run': () => ({ admission: { kind: 'held', limits: [], reservedTokens: 17 } }),
  'enhance.run': () => ({ prompt: { verdict: 'clean' } }),
};

export function bench({
  behave = {},
  deployments = [deploymentOf('a')],
  config = {},
  start = 0,
  mayWatchBody = true,
}: BenchOptions = {}): Bench {
  const calls: string[] = [];
  const endings: Ending[] = [];
  const anomalies: string[] = [];
  const replayed: string[] = [];
  const logged: string[] = [];
  const streams = { request: 0, attempt: 0 };
  const clock = { at: 1000 };
  const tries: LiveRecord[] = [];
  const watched: WatchedRecord[] = [];
  const snapshot = configOf(config);
  const does: Behaviour = { ...GIVES, 'route.run': () => ({ decision: decisionOf(deployments) }), ...behave };
  const adapt = createAdapt({ dialects: new Map([['fake', backendDialect]]) });
  const log: Log = {
    debug() {},
    info() {},
    warn: (message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
    error: (message) => logged.push(message),
  };
  const metrics = {
    request() {},
    streams: (level: 'request' | 'attempt', delta: number) => (streams[level] += delta),
    anomaly: (kind: string) => anomalies.push(kind),
    replayed: (deployment: string) => replayed.push(deployment),
  } as unknown as Metrics;
  const stations = STATION_NAMES.map((name): AnyStation => {
    const moment = (kind: Exclude<Moment, 'finish'>) => (ctx: object) => {
      calls.push(`${name}.${kind}`);
      const step = (given: unknown) =>
        typeof given === 'object' && given !== null && 'respond' in given
          ? given
          : { decision: 'ok', reason: kind, note: { decision: 'ok', reason: kind }, adds: given ?? {} };
      const given = does[`${name}.${kind}`]?.(ctx as RequestContext);
      return given instanceof Promise ? given.then(step) : step(given);
    };
    return {
      name,
      head: moment('head'),
      run: moment('run'),
      place: moment('place'),
      attempt: moment('attempt'),
      finish(ctx: object, ending: Ending) {
        calls.push(`${name}.finish`);
        if (name === 'wrap') endings.push(ending);
        return does[`${name}.finish`]?.(ctx as RequestContext) as void;
      },
    } as unknown as AnyStation;
  });
  return {
    calls,
    endings,
    anomalies,
    replayed,
    logged,
    streams,
    clock,
    tries,
    watched,
    options: {
      stations,
      adapt,
      client: clientDialect,
      config: () => snapshot,
      placementOf: () => start,
      rateLimitHeaders: (limits) => [['x-limits', String(limits.length)]],
      services: createServices({ allowed: (_principal, name) => name !== 'hidden', log }),
      refusal: createRefusal(clientDialect),
      asError: createAsError({ log, metrics }),
      mayWatchBody: () => mayWatchBody,
      live: new LiveRequests(),
      worker: 0,
      metrics,
      figures: { begin: (route, { id }) => beginOf(tries, `${route} ${id}`) },
      watch: { begin: (place, work) => watchedOf(watched, nameOf(place), work) },
      log,
      clock: { now: () => clock.at, time: () => 1_700_000_000_000 + clock.at },
    },
  };
}

export type Pushed = Parameters<RequestPort['push']>[0];

/** A request on such a bench, and what it pushed unasked. */
export function openRequest(made: Bench): { readonly flow: RequestFlow; readonly pushed: Pushed[] } {
  const pushed: Pushed[] = [];
  return { flow: new RequestFlow(made.options, { push: (reply) => pushed.push(reply) }), pushed };
}

/** The request has come whole and goes on to its upstream, whose first try was sent. */
export async function forwarded(made: Bench, body: Partial<ChatRequest> = {}, cluster = 'a') {
  const opened = openRequest(made);
  void opened.flow.onRequestHead(headOf([['x-request-id', 'mine']]), false);
  const reply = await opened.flow.onRequestBody(Buffer.from(JSON.stringify(body)), true);
  assert.equal(reply.kind, 'forward');
  const attempt = opened.flow.attempt(cluster);
  assert.equal((await attempt.onRequestHead(headOf())).kind, 'replace');
  return { ...opened, attempt, mutation: reply.mutation };
}

export function responded(reply: RequestReply | Pushed | undefined): LocalResponse & { readonly text: string } {
  assert.equal(reply?.kind, 'respond');
  return { ...reply.response, text: Buffer.from(reply.response.body).toString() };
}

type Sent = Extract<ResponseReply, { kind: 'send' }>;

export function sent(
  reply: Pushed | ResponseReply | undefined,
): Sent & { readonly text: string; header(name: string): string | undefined } {
  assert.equal(reply?.kind, 'send', JSON.stringify(reply));
  return {
    ...reply,
    text: Buffer.concat(reply.chunks).toString(),
    header: (name) => reply.head?.set?.find(([given]) => given === name)?.[1],
  };
}

export function code(reply: RequestReply | Pushed | undefined): string {
  return (JSON.parse(responded(reply).text) as { error: { code: string } }).error.code;
}
