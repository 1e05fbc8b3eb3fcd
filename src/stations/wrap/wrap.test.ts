import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Ending } from '../../core/ending.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList } from '../../core/http.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { Trail } from '../../core/trail.ts';
import { auditFacts } from './audit-facts.ts';
import { traceOf } from './trace.ts';
import { createWrap } from './wrap.ts';

type Context = Partial<RequestContext> & Arrived;

const JUDGED = {
  deployment: 'm@b',
  place: 1,
  reason: 'best_score',
  terms: { cost: 1, latency: 0.5, quality: 0.2 },
  utility: 0.6,
  value: 0.5,
  health: 1,
  running: 2,
  load: 0.1,
  warm: 0.5,
  estimateMs: 900,
  estimateCost: 12,
  weight: 1,
} as const;
const { estimateMs: _ms, estimateCost: _cost, ...SHOWN } = JUDGED;

const trail = new Trail();
trail.note('authenticate', 12, 'allowed', 'issuer x');
trail.note('route', 3, 'decided', 'weights');

const early: Context = {
  id: '0-x',
  operation: '0-x',
  shownId: 'shown',
  time: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  head: {
    method: 'POST',
    path: '/v1/chat/completions?api_key=secret-in-query',
    headers: new HeaderList([
      ['authorization', 'Bearer secret-in-header'],
      ['cookie', 'secret-in-cookie'],
    ]),
  },
  endpoint: 'chat',
  config: { generation: 4, ledger: { keepMs: 77 } },
  trail,
} as unknown as Context;

const whole: Context = {
  ...early,
  principal: { tenant: 'acme', subject: 'ann', businessLine: 'line', claims: { email: 'secret-in-claims' } },
  request: {
    model: 'asked',
    stream: true,
    raw: Buffer.from('secret-in-body'),
    texts: [{ param: 'messages[0]', role: 'user', text: 'secret-in-prompt' }],
  },
  decision: {
    route: { id: 'r' },
    reason: 'match',
    candidates: [{ deployment: { backend: { credentials: [['authorization', 'secret-of-backend']] } } }],
    judged: () => [JUDGED],
  },
} as unknown as Context;

const ending = (over: object = {}): Ending =>
  ({
    kind: 'complete',
    status: 200,
    usage: { prompt: 10, cached: 4, completion: 5, reasoning: 2, source: 'upstream' },
    usageFlag: null,
    firstTokenMs: 1.50001,
    totalMs: 9.87654,
    attempts: [
      {
        attempt: 1,
        backend: 'b',
        model: 'served',
        outcome: 'served',
        status: 200,
        startedMs: 1.00049,
        firstByteMs: 2.5,
        reason: '',
      },
    ],
    events: [
      { chargedTo: 'gateway', model: 'thrown', backend: 'away', cost: 99, currency: 'USD' },
      { chargedTo: 'tenant', model: 'served', backend: 'b', cost: 1_234_567, currency: 'EUR' },
    ],
    ...over,
  }) as unknown as Ending;

test("a request's story is told with its stations, its tries, its usage and its cost", () => {
  const trace = traceOf(whole, ending());
  assert.deepEqual(trace['stations'], [
    { station: 'authenticate', micros: 12, decision: 'allowed', reason: 'issuer x' },
    { station: 'route', micros: 3, decision: 'decided', reason: 'weights' },
  ]);
  const { stations: _, attempts, ...rest } = trace;
  assert.deepEqual(attempts, [
    {
      attempt: 1,
      backend: 'b',
      model: 'served',
      outcome: 'served',
      status: 200,
      started_ms: 1,
      first_byte_ms: 2.5,
      reason: '',
    },
  ]);
  assert.deepEqual(rest, {
    id: '0-x',
    request_id: 'shown',
    started: '2026-01-02T03:04:05.006Z',
    method: 'POST',
    path: '/v1/chat/completions',
    tenant: 'acme',
    subject: 'ann',
    business_line: 'line',
    requested_model: 'asked',
    stream: true,
    route: 'r',
    route_reason: 'match',
    class: null,
    fallback_reason: null,
    surge: null,
    candidates: [{ ...SHOWN, estimate_ms: 900, estimate_cost_micros: 12 }],
    model: 'served',
    backend: 'b',
    outcome: 'complete',
    status: 200,
    error: null,
    error_message: null,
    usage: {
      prompt_tokens: 10,
      cached_tokens: 4,
      completion_tokens: 5,
      reasoning_tokens: 2,
      estimated: false,
      flag: null,
    },
    cost: '1.234567',
    currency: 'EUR',
    first_token_ms: 1.5,
    total_ms: 9.877,
    config_generation: 4,
    rollout: null,
  });
});

test('no prompt, no credential and no query string is in it', () => {
  const error = new GatewayError('upstream_error', 'x', {
    original: 'secret-of-upstream',
    cause: new Error('secret-of-cause'),
  });
  for (const each of [ending(), ending({ kind: 'failed', error })]) {
    const text = JSON.stringify(traceOf(whole, each));
    assert.doesNotMatch(text, /secret/);
    assert.deepEqual(JSON.parse(text), traceOf(whole, each), 'it is plain JSON');
    assert.doesNotMatch(text, /"[a-z]+[A-Z][A-Za-z]*":/, 'names are written alike');
  }
});

test('a request that got no further than its head has a story too', () => {
  const error = new GatewayError('missing_credentials', 'x');
  const trace = traceOf(early, ending({ kind: 'failed', error, status: 401, attempts: [], events: [] }));
  assert.deepEqual(
    ['tenant', 'requested_model', 'route', 'model', 'cost', 'outcome', 'error', 'status'].map((key) => trace[key]),
    [null, null, null, null, null, 'failed', 'missing_credentials', 401],
  );
  assert.equal(traceOf(early, ending({ kind: 'cut', by: 'client' }))['outcome'], 'cut_by_client');
});

test('a path of any length is bounded', () => {
  const head = { ...early.head, path: `/${'x'.repeat(5000)}` };
  assert.equal((traceOf({ ...early, head }, ending())['path'] as string).length, 256);
});

function listeners(state: 'ok' | 'failing' = 'ok') {
  const told: unknown[] = [];
  const station = createWrap({
    log: { info: (message: string, fields: unknown) => told.push(['log', message, fields]) } as unknown as Log,
    metrics: { request: (...given: unknown[]) => told.push(['metrics', ...given]) } as unknown as Metrics,
    traces: {
      put: (id: string, trace: string, keepMs: number) => void told.push(['traces', id, JSON.parse(trace), keepMs]),
      get: () => Promise.resolve([]),
    },
    audit: {
      append: (entry) => void told.push(['audit', entry]),
      state: () => state,
      kept: () => Promise.resolve(true),
      flush: () => Promise.resolve(0),
      close: () => Promise.resolve(),
      prompt: (texts) => (texts.includes('secret') ? { hash: 'h' } : null),
    },
  });
  return { station, told };
}

test('the station tells it once to each listener', async () => {
  const { station, told } = listeners();
  const end = ending();
  const silent = { ...whole, config: { ...whole.config, audit: null } } as Context;
  await station.finish?.(silent, end);
  const trace = traceOf(silent, end);
  assert.deepEqual(told, [
    ['metrics', silent, end],
    ['log', 'request', trace],
    ['traces', 'shown', trace, 77],
  ]);
});

const audited = (onError: 'block' | 'continue') => ({ ...whole.config, audit: { onError } }) as unknown as Snapshot;

test('with an audit the story is recorded, and of the prompt what the audit keeps', async () => {
  const { station, told } = listeners();
  const end = ending();
  for (const text of ['secret', 'plain']) {
    const texts = [{ param: 'messages[0].content', role: 'user', text }];
    const request = { ...whole.request, texts } as unknown as RequestContext['request'];
    await station.finish?.({ ...whole, config: audited('continue'), request }, end);
  }
  const facts = told.flatMap((entry) => (Array.isArray(entry) && entry[0] === 'audit' ? [entry[1].facts] : []));
  const expected = { ...auditFacts(whole, end, traceOf(whole, end)), booking: null };
  assert.deepEqual(facts[0], { ...expected, prompt: { hash: 'h' } });
  assert.deepEqual(facts[1], expected);
});

test('an audit that fails refuses requests where the rule is to block, and only there', () => {
  const refused = (state: 'ok' | 'failing', onError: 'block' | 'continue'): boolean => {
    try {
      void listeners(state).station.head?.({ ...whole, config: audited(onError) });
      return false;
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, 'audit_unavailable');
      return true;
    }
  };
  assert.deepEqual(
    [refused('failing', 'block'), refused('failing', 'continue'), refused('ok', 'block')],
    [true, false, false],
  );
});
