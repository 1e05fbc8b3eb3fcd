import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placesOf } from '../core/places.ts';
import type { Deployment } from '../core/snapshot.ts';
import type { BackendDialect } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { Watch } from '../core/exchange.ts';
import type { HeaderPair } from '../core/http.ts';
import { createAdapt } from '../stations/adapt/adapt.ts';
import { AttemptFlow, type AttemptOwner } from './attempt-flow.ts';
import { Closing } from './closing.ts';
import {
  answerHead,
  backendDialect,
  bench,
  type BenchOptions,
  contextOf,
  deploymentOf,
  headOf,
  requestOf,
} from './flow-kit.test.ts';
import { type Plan, planOf } from './plan.ts';

const PASS = { kind: 'continue', mutation: {} };
const HOLD = { kind: 'hold' };
const TRY_NEXT = { kind: 'continue', mutation: { set: [[':status', '503']], remove: ['retry-after'] } };
/** The status stands; the next backend need not wait for as long as this one asks. */
const GIVEN_UP = { kind: 'continue', mutation: { remove: ['retry-after'] } };
const JSON_HEAD: readonly HeaderPair[] = [['content-type', 'application/json; charset=utf-8']];

interface Opening extends BenchOptions {
  readonly stream?: boolean;
  readonly over?: boolean;
  readonly dialect?: BackendDialect;
  readonly watch?: Watch;
  /** So many endpoints of the first backend, as a pool. */
  readonly pool?: number;
}

function poolOf(name: string, count: number): Deployment {
  const made = deploymentOf(name);
  const endpoints = Array.from({ length: count }, (_, at) => ({ host: `10.0.0.${at}`, port: 80, weight: 1 }));
  return { ...made, backend: { ...made.backend, pool: { slowStartMs: 0 }, endpoints } };
}

function open({
  stream = true,
  over = false,
  dialect = backendDialect,
  watch = 'body',
  pool = 0,
  ...rest
}: Opening = {}) {
  const made = bench(rest);
  const deployments = [pool > 0 ? poolOf('a', pool) : deploymentOf('a'), deploymentOf('b')];
  const ctx = contextOf({ startedAt: 1000, request: requestOf({ stream }) }, deployments);
  if (pool > 0)
    Object.assign(ctx.decision, {
      candidates: deployments.flatMap((each) => placesOf(each).map((place) => ({ ...place, reason: 'explicit' }))),
    });
  const refused: string[] = [];
  const plan: Plan = planOf(ctx, 0);
  const closing = new Closing(made.options, ctx);
  const owner: AttemptOwner = {
    context: ctx,
    plan,
    closing,
    watch,
    over,
    onRefused: (error) => refused.push(error.code),
    onClaimed: () => {},
  };

  const adapt = createAdapt({ dialects: new Map([['fake', dialect]]) });
  const attempt = (cluster: string, address = '') =>
    new AttemptFlow({ ...made.options, adapt, owner, cluster, address });
  /** A first try whose request was sent. */
  const first = async () => {
    const flow = attempt('a');
    assert.equal((await flow.onRequestHead(headOf())).kind, 'replace');
    return flow;
  };
  const records = () => closing.attempts.close({ kind: 'complete' });
  return { ...made, ctx, owner, attempt, first, closing, records, refused };
}

const words = (text: string) => Buffer.from(text);

test('a try sends the request that is meant for the backend that Envoy chose', async () => {
  const { attempt, ctx, calls } = open();
  const opened = await attempt('a').onRequestHead(headOf());
  assert.equal(opened.kind, 'replace');
  assert.equal(opened.kind === 'replace' && opened.body.toString(), 'to m-at-a: {}');
  assert.equal(opened.kind === 'replace' && opened.watch, 'body');
  assert.deepEqual(
    calls,
    ['authenticate', 'schedule', 'route', 'enhance', 'adapt', 'wrap'].map((name) => `${name}.attempt`),
  );
  const note = ctx.trail.stations().find((record) => record.station === 'adapt');
  assert.equal(note?.decision, 'to fake');
});

test('tries count up, and the last entry of the plan serves all that are beyond it', async () => {
  const { attempt, records } = open();
  for (const cluster of ['a', 'b', 'b']) assert.equal((await attempt(cluster).onRequestHead(headOf())).kind, 'replace');
  assert.deepEqual(
    records().map((record) => [record.attempt, record.backend]),
    [
      [1, 'a'],
      [2, 'b'],
      [3, 'b'],
    ],
  );
});

test('in a pool a try is of the endpoint that Envoy says it took, whatever was planned', async () => {
  const { attempt, records, watched } = open({ pool: 3 });
  for (const [cluster, address] of [
    ['a', '10.0.0.0:80'],
    ['a', '10.0.0.2:80'],
    ['b', '10.9.9.9:80'],
  ] as const)
    assert.equal((await attempt(cluster, address).onRequestHead(headOf())).kind, 'replace');
  assert.deepEqual(
    records().map(({ backend, endpoint, outcome }) => [backend, endpoint, outcome]),
    [
      ['a', '10.0.0.0:80', 'failed_over'],
      ['a', '10.0.0.2:80', 'failed_over'],
      ['b', undefined, 'served'],
    ],
  );
  assert.ok(
    watched.some((line) => JSON.stringify(line).includes('m@a/10.0.0.2:80')),
    JSON.stringify(watched),
  );
  const told = open({ pool: 2 });
  await told.attempt('a').onRequestHead(headOf());
  assert.equal(told.records()[0]?.endpoint, '10.0.0.0:80', 'not told: as planned');
  const unknown = open({ pool: 2 });
  await unknown.attempt('a', '10.9.9.9:80').onRequestHead(headOf());
  assert.equal(unknown.records()[0]?.endpoint, undefined, 'one that is not known here is nobody of ours');
});

test('a backend that is not in the plan gets nothing', async () => {
  for (const cluster of ['b', '', 'elsewhere']) {
    const { attempt, anomalies, logged, closing } = open();
    const opened = await attempt(cluster).onRequestHead(headOf());
    assert.equal(opened.kind === 'respond' && opened.response.status, 500, cluster);
    assert.deepEqual(
      [anomalies, logged, closing.attempts.count],
      [['attempt_off_plan'], ['an attempt could not be made'], 0],
    );
  }
});

test('a try that comes after the end gets nothing', async () => {
  const { attempt, closing } = open({ over: true });
  const opened = await attempt('a').onRequestHead(headOf());
  assert.equal(opened.kind === 'respond' && opened.response.status, 503);
  assert.equal(closing.attempts.count, 0);
});

test('a station may refuse a try, at once or later', async () => {
  const refuse = () => {
    throw new GatewayError('deployment_saturated', 'Full.');
  };
  for (const behave of [{ 'schedule.attempt': refuse }, { 'schedule.attempt': async () => refuse() }]) {
    const { attempt, logged, refused } = open({ behave });
    const opened = await attempt('a').onRequestHead(headOf());
    assert.equal(opened.kind === 'respond' && opened.response.details, 'deployment_saturated');
    assert.deepEqual(logged, [], 'a refusal is no fault of ours');
    assert.deepEqual(refused, ['deployment_saturated'], 'its request is told');
  }
});

test('a station may wait, and may answer in place of the backend', async () => {
  const waited = await open({ behave: { 'schedule.attempt': async () => ({}) } })
    .attempt('a')
    .onRequestHead(headOf());
  assert.equal(waited.kind, 'replace');
  const response = { status: 418, headers: [], body: Buffer.alloc(0), details: 'x' };
  const answered = await open({ behave: { 'enhance.attempt': () => ({ respond: response }) } })
    .attempt('a')
    .onRequestHead(headOf());
  assert.deepEqual(answered, { kind: 'respond', response });
});

test('a fault while a try is made becomes our error, told to the log and not to the client', async () => {
  const dialect: BackendDialect = {
    ...backendDialect,
    encode: () => {
      throw new TypeError('secret');
    },
  };
  const { attempt, logged } = open({ dialect });
  const opened = await attempt('a').onRequestHead(headOf());
  assert.equal(opened.kind === 'respond' && opened.response.details, 'internal_error');
  assert.doesNotMatch(Buffer.from(opened.kind === 'respond' ? opened.response.body : []).toString(), /secret/);
  assert.deepEqual(logged, ['an attempt could not be made']);
});

test('a bad status is left to Envoy, and written down', async () => {
  for (const status of [400, 401, 404, 429, 500, 503]) {
    const { first, records } = open();
    const flow = await first();
    assert.deepEqual(flow.onResponseHead(answerHead(status), false), GIVEN_UP);
    assert.deepEqual([records()[0]?.status, records()[0]?.reason], [status, `status ${status}`]);
    assert.deepEqual(flow.onResponseBody(words('out:x'), true), PASS, 'nothing of it is looked at');
  }
});

test('a whole answer is passed by its head alone: JSON serves, anything else and nothing at all does not', async () => {
  const cases: readonly (readonly [readonly HeaderPair[], boolean, object])[] = [
    [JSON_HEAD, false, PASS],
    [[], false, PASS],
    [[['content-type', 'text/html']], false, TRY_NEXT],
    [JSON_HEAD, true, TRY_NEXT],
  ];
  for (const [headers, end, reply] of cases) {
    const flow = await open({ stream: false, watch: 'head' }).first();
    assert.deepEqual(flow.onResponseHead(answerHead(200, headers), end), reply, JSON.stringify(headers));
  }
});

test('a whole answer whose body is watched is held up to its first byte', async () => {
  const { first } = open({ stream: false });
  const flow = await first();
  assert.deepEqual(flow.onResponseHead(answerHead(200, JSON_HEAD), false), HOLD);
  assert.deepEqual(flow.onResponseBody(words(''), false), HOLD);
  assert.deepEqual(flow.onResponseBody(words('{'), false), PASS);
  const empty = await open({ stream: false }).first();
  empty.onResponseHead(answerHead(200, JSON_HEAD), false);
  assert.deepEqual(empty.onResponseBody(words(''), true), TRY_NEXT, 'a body of nothing');
});

test('a stream is held up to its first output', async () => {
  const { first, records } = open();
  const flow = await first();
  assert.deepEqual(flow.onResponseHead(answerHead(), false), HOLD);
  assert.deepEqual(flow.onResponseBody(words('ping'), false), HOLD);
  assert.deepEqual(flow.onResponseBody(words('ping|out:hello'), false), PASS);
  assert.equal(records()[0]?.reason, '');
});

test('a stream that fails before its first output is given up, with what it used', async () => {
  const { first, attempt, closing, records } = open();
  const flow = await first();
  flow.onResponseHead(answerHead(), false);
  assert.deepEqual(flow.onResponseBody(words('ping|error:upstream_overloaded:10,5'), false), TRY_NEXT);
  assert.deepEqual(flow.onResponseBody(words('nonsense'), true), PASS, 'the rest of it is not read');
  await attempt('b').onRequestHead(headOf());
  assert.deepEqual([records()[0]?.outcome, records()[0]?.reason], ['failed_over', 'upstream_overloaded']);
  assert.equal(closing.attempts.thrownAway()[0]?.cost, 20);
});

test('a stream without any output is given up', async () => {
  for (const body of ['done', 'cut', 'ping|done', 'ping', '']) {
    const { first, records } = open();
    const flow = await first();
    flow.onResponseHead(answerHead(), false);
    const decoder = body === '' ? 'ping' : body;
    assert.deepEqual(flow.onResponseBody(words(decoder), true), TRY_NEXT, body);
    assert.equal(records()[0]?.reason, 'no output');
  }
  const { first, records } = open();
  assert.deepEqual((await first()).onResponseHead(answerHead(), true), TRY_NEXT);
  assert.equal(records()[0]?.reason, 'empty answer');
});

test('output in the last bytes counts', async () => {
  const flow = await open().first();
  flow.onResponseHead(answerHead(), false);
  assert.deepEqual(flow.onResponseBody(words('out:x|done'), true), PASS);
});

test('nobody is behind the last try: its answer passes unseen, whatever it is', async () => {
  const { first, attempt } = open();
  await first();
  const last = attempt('b');
  await last.onRequestHead(headOf());
  assert.deepEqual(last.onResponseHead(answerHead(503), false), PASS);
  assert.deepEqual(last.onResponseBody(words('error:upstream_error'), true), PASS);
});

test('a request that has ended meanwhile has no use for its tries', async () => {
  const { first, owner } = open();
  const flow = await first();
  assert.deepEqual(flow.onResponseHead(answerHead(), false), HOLD);
  Object.assign(owner, { over: true });
  assert.deepEqual(flow.onResponseBody(words('error:upstream_error'), false), PASS);
  const late = await open().first();
  assert.deepEqual(late.onResponseBody(words('out:x'), false), PASS, 'no head was held');
});

test('a head without a request passes', () => {
  assert.deepEqual(open().attempt('a').onResponseHead(answerHead(500), false), PASS);
});

test('open tries are counted', async () => {
  const { first, attempt, streams } = open();
  const one = await first();
  const two = attempt('b');
  assert.equal(streams.attempt, 2);
  one.close();
  two.close();
  assert.equal(streams.attempt, 0);
});

test('tries are numbered by the proxy: one that comes after a later one gets nothing and changes nothing', async () => {
  const { attempt, closing } = open();
  const counted = (count: string) => headOf([['x-envoy-attempt-count', count]]);
  const second = await attempt('b').onRequestHead(counted('2'));
  assert.equal(second.kind, 'replace');
  const late = await attempt('a').onRequestHead(counted('1'));
  assert.equal(late.kind === 'respond' && late.response.status, 503);
  assert.deepEqual([closing.attempts.last, closing.attempts.current?.candidate.deployment.backend.name], [2, 'b']);
});
