import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCode, GatewayError } from '../core/error.ts';
import { Closing } from './closing.ts';
import type { ClosingHow } from './closing-how.ts';
import {
  attemptOf,
  bench,
  type BenchOptions,
  contextOf,
  deploymentOf,
  facts,
  settled,
  usageOf,
} from './flow-kit.test.ts';
import type { GrowingContext } from './walk.ts';

const ERROR = new GatewayError('upstream_overloaded', 'x');

function open(over: object = {}, options: BenchOptions = {}) {
  const made = bench(options);
  const ctx = contextOf({ startedAt: 1000, ...over }) as GrowingContext;
  const closing = new Closing(made.options, ctx);
  const start = (backend = 'a') => closing.attempts.start(attemptOf(deploymentOf(backend), closing.attempts.count + 1));
  const end = async (how: ClosingHow) => {
    const metadata = closing.end(how)?.['tokenlat.usage'];
    await settled();
    return { metadata, ending: made.endings.at(-1)! };
  };
  return { ...made, ctx, closing, start, end };
}

test('an answer that came to its end is booked to the tenant with its usage and cost', async () => {
  const { closing, start, end, clock, calls } = open();
  start();
  closing.attempts.answered(200);
  closing.meter(7).add(facts({ content: true, outputChars: 4, usage: usageOf(10, 5) }));
  clock.at = 1250;
  const { metadata, ending } = await end({ kind: 'complete' });
  assert.deepEqual(
    [ending.kind, ending.status, ending.usage, ending.usageFlag, ending.totalMs],
    ['complete', 200, usageOf(10, 5), null, 250],
  );
  const [event] = ending.events;
  assert.equal(ending.events.length, 1);
  assert.deepEqual(
    [event?.chargedTo, event?.status, event?.attempt, event?.cost, event?.totalMs],
    ['tenant', 'complete', 1, 20, 250],
  );
  assert.deepEqual(metadata, {
    request_id: 'shown',
    tenant: 'acme',
    route: 'r',
    model: 'm',
    backend: 'a',
    attempts: 1,
    prompt_tokens: 10,
    cached_tokens: 0,
    completion_tokens: 5,
    total_tokens: 15,
    cost: '0.000020',
    currency: 'EUR',
  });
  assert.deepEqual(
    calls,
    ['wrap', 'adapt', 'enhance', 'route', 'schedule', 'authenticate'].map((name) => `${name}.finish`),
  );
});

test('a request ends once', async () => {
  const { end, closing, endings } = open();
  await end({ kind: 'failed', error: ERROR });
  assert.equal(closing.end({ kind: 'complete' }), undefined);
  await settled();
  assert.equal(endings.length, 1);
});

test('tries that were thrown away are booked to the gateway, once each, and the client pays one', async () => {
  const { closing, start, end } = open();
  start('a');
  closing.attempts.failed('status 503', usageOf(100, 0));
  start('b');
  closing.attempts.answered(200);
  closing.meter(7).add(facts({ usage: usageOf(10, 5) }));
  const { ending } = await end({ kind: 'complete' });
  assert.deepEqual(
    ending.events.map((event) => [event.attempt, event.backend, event.chargedTo, event.cost]),
    [
      [1, 'a', 'gateway', 100],
      [2, 'b', 'tenant', 20],
    ],
  );
});

test('how a request was cut is told to the ledger, and by whom', async () => {
  const statuses = { client: 'client_aborted', deadline: 'partial', upstream: 'error', shutdown: 'partial' } as const;
  for (const by of ['client', 'deadline', 'upstream', 'shutdown'] as const) {
    const { closing, start, end } = open();
    start();
    closing.attempts.begun = true;
    closing.meter(7).add(facts({ content: true, outputChars: 400 }));
    const { ending } = await end({ kind: 'cut', by });
    assert.deepEqual(
      [ending.kind, ending.kind === 'cut' && ending.by, ending.status, ending.usageFlag],
      ['cut', by, 200, 'cut'],
    );
    assert.deepEqual([ending.usage.prompt, ending.usage.completion, ending.usage.source], [7, 100, 'estimate']);
    assert.equal(ending.events[0]?.status, statuses[by]);
  }
});

test('a cut while a try was under way costs its prompt; before any try it costs nothing', async () => {
  const tried = open();
  tried.start();
  const { ending } = await tried.end({ kind: 'cut', by: 'client' });
  assert.deepEqual([ending.status, ending.usage.prompt, ending.usage.completion], [0, 7, 0]);
  const untried = open();
  const nothing = (await untried.end({ kind: 'cut', by: 'client' })).ending;
  assert.deepEqual(
    [nothing.usage.prompt, nothing.usage.completion, nothing.events[0]?.attempt, nothing.events[0]?.cost],
    [0, 0, 0, 0],
  );
});

test('a failure costs what the client had seen of it, else what the upstream told', async () => {
  const seen = open();
  seen.start();
  seen.closing.attempts.begun = true;
  seen.closing.meter(7).add(facts({ content: true, outputChars: 400 }));
  const after = (await seen.end({ kind: 'failed', error: ERROR })).ending;
  assert.deepEqual([after.status, after.usage.completion, after.events[0]?.status], [200, 100, 'error']);
  const told = open();
  told.start();
  told.closing.meter(7).told(usageOf(3, 0));
  const before = (await told.end({ kind: 'failed', error: ERROR })).ending;
  assert.deepEqual(
    [before.status, before.usage, before.kind === 'failed' && before.error],
    [503, usageOf(3, 0), ERROR],
  );
  const silent = open();
  silent.start();
  silent.closing.meter(7);
  assert.deepEqual((await silent.end({ kind: 'failed', error: ERROR })).ending.usage, usageOf(0, 0));
});

test('a last try that was taken and never answered is booked to the gateway, once, beside the request', async () => {
  const booked = async (how: ClosingHow, before: (made: ReturnType<typeof open>) => void = () => {}, over = {}) => {
    const made = open({ request: { stream: false, promptTokens: 7 }, ...over });
    made.start();
    made.clock.at += 20_000;
    before(made);
    const { events, attempts } = (await made.end(how)).ending;
    const names = events.map(({ operation, attempt }) => `${operation} ${attempt}`);
    assert.equal(new Set(names).size, names.length, 'operation and attempt name a booking');
    return [
      ...events.map(({ chargedTo, attempt, promptTokens, cost, backend, usageFlag }) =>
        [chargedTo, attempt, promptTokens, cost, backend, usageFlag].join(' '),
      ),
      attempts.at(-1)?.reason,
    ];
  };
  const failed = (code: ErrorCode): ClosingHow => ({ kind: 'failed', error: new GatewayError(code, 'x') });
  const lost = ['gateway 1 7 7 a unanswered', 'tenant 0 0 0 a ', 'took the request and never answered'];
  const free = ['tenant 1 0 0 a ', ''];
  const timeout = failed('upstream_timeout');
  assert.deepEqual(await booked(timeout), lost);
  assert.deepEqual(await booked(failed('upstream_unreachable')), lost);
  assert.deepEqual(await booked({ kind: 'cut', by: 'upstream' }), lost);
  const head = ({ closing }: ReturnType<typeof open>): void => (closing.attempts.answered(200), void closing.meter(7));
  assert.deepEqual(await booked(timeout, head), lost, 'a head, and then silence');
  for (const code of ['internal_error', 'upstream_invalid_response', 'upstream_overloaded'] as const)
    assert.deepEqual(await booked(failed(code)), free, code);
  assert.deepEqual(await booked(timeout, ({ closing }) => closing.attempts.told(false)), free, 'never sent');
  const status = ({ closing }: ReturnType<typeof open>): void => closing.attempts.answered(504);
  assert.deepEqual(await booked(timeout, status), free, 'its own 504');
  const told = ({ closing }: ReturnType<typeof open>): void => closing.meter(7).told(usageOf(3, 0));
  assert.deepEqual((await booked(timeout, told))[0], 'tenant 1 3 3 a ', 'what it told is charged');
  for (const by of ['client', 'shutdown'] as const)
    assert.deepEqual((await booked({ kind: 'cut', by }))[0], 'tenant 1 7 7 a cut', by);
  const principal = { tenant: 'acme', subject: 's', businessLine: 'b', job: { id: 'job', operation: 'op' } };
  const job = await booked(failed('upstream_unreachable'), () => {}, { principal });
  assert.deepEqual(job, [lost[0], lost[2]], 'a job that waits on has no request yet, and its try one event');
});

test('an answer of our own and a refusal before the decision leave no cost', async () => {
  const own = open({ decision: undefined, admission: undefined });
  const { ending, metadata } = await own.end({ kind: 'answered', status: 204 });
  assert.deepEqual([ending.kind, ending.status, ending.events, ending.attempts], ['complete', 204, [], []]);
  assert.deepEqual([metadata?.['tenant'], metadata?.['cost'], metadata?.['model']], ['acme', '0.000000', '']);
  const stranger = open({ decision: undefined, admission: undefined, principal: undefined, request: undefined });
  const refused = await stranger.end({ kind: 'failed', error: new GatewayError('missing_credentials', 'x') });
  assert.deepEqual([refused.ending.status, refused.metadata?.['tenant']], [401, '']);
});

test('a station that cannot finish does not keep the others from it', async () => {
  const { end, calls, anomalies, logged } = open(
    {},
    {
      behave: {
        'adapt.finish': () => {
          throw new Error('one');
        },
        'route.finish': () => Promise.reject(new Error('two')),
      },
    },
  );
  await end({ kind: 'complete' });
  assert.equal(calls.filter((call) => call.endsWith('.finish')).length, 6);
  assert.deepEqual(anomalies, ['finish_failed', 'finish_failed']);
  assert.equal(logged.length, 2);
});

test('figures that cannot be summed up do not keep a request from ending', async () => {
  const { closing, start, end, anomalies, endings } = open();
  start();
  closing.meter(7).told({ ...usageOf(1, 1), prompt: 0.5 });
  const { ending } = await end({ kind: 'complete' });
  assert.deepEqual([endings.length, ending.kind, ending.status], [1, 'failed', 500]);
  assert.deepEqual(anomalies, ['ending_failed']);
});

test('the tally is of the answer as it stands, and nothing before a try', () => {
  const { closing, start } = open();
  assert.equal(closing.tally(), null);
  start();
  assert.equal(closing.tally(), null);
  closing.meter(7).add(facts({ usage: usageOf(10, 5) }));
  assert.deepEqual(closing.tally(), { usage: usageOf(10, 5), cost: 20, currency: 'EUR' });
});

test('whoever counts what runs hears of each try once: given up, served, refused with reason, left', async () => {
  const { start, end, closing, clock, tries } = open();
  start('a');
  clock.at = 1010;
  start('b');
  clock.at = 1030;
  closing.attempts.firstToken();
  closing.meter(7).add(facts({ content: true, outputChars: 4, usage: usageOf(10, 5) }));
  clock.at = 1100;
  await end({ kind: 'complete' });
  await end({ kind: 'complete' });
  assert.deepEqual(tries, [
    { where: 'r m@a', ends: [{ served: false, failed: true, ms: 10, firstTokenMs: null, tokens: 0, isCold: null }] },
    { where: 'r m@b', ends: [{ served: true, failed: false, ms: 90, firstTokenMs: 20, tokens: 15, isCold: null }] },
  ]);
  const blamed: readonly (readonly [ClosingHow, boolean])[] = [
    [{ kind: 'failed', error: new GatewayError('upstream_overloaded', 'x') }, true],
    [{ kind: 'failed', error: new GatewayError('upstream_timeout', 'x') }, true],
    [{ kind: 'failed', error: new GatewayError('upstream_rejected', 'x') }, false],
    [{ kind: 'failed', error: new GatewayError('internal_error', 'x') }, false],
    [{ kind: 'cut', by: 'upstream' }, true],
    [{ kind: 'cut', by: 'deadline' }, true],
    [{ kind: 'cut', by: 'client' }, false],
    [{ kind: 'cut', by: 'shutdown' }, false],
  ];
  for (const [how, failed] of blamed) {
    const made = open();
    made.start();
    await made.end(how);
    assert.deepEqual(
      made.tries[0]?.ends.map((each) => [each.served, each.failed]),
      [[false, failed]],
      JSON.stringify(how),
    );
  }
});

test('a request without a try, and one that cannot be summed up, leave nothing running', async () => {
  const none = open();
  await none.end({ kind: 'answered', status: 200 });
  assert.deepEqual(none.tries, []);
  const broken = open({
    decision: {
      route: { id: 'r' },
      get candidates() {
        throw new Error('broken');
      },
    },
  });
  broken.start();
  Object.defineProperty(broken.closing.attempts, 'thrownAway', {
    value: () => {
      throw new Error('broken');
    },
  });
  await broken.end({ kind: 'complete' });
  assert.equal(broken.tries[0]?.ends.length, 1);
});

test('an answer that is no stream tells of no first token', async () => {
  const { start, end, closing, tries } = open({ request: { stream: false, promptTokens: 1 } });
  start();
  closing.attempts.firstToken();
  await end({ kind: 'complete' });
  assert.equal(tries[0]?.ends[0]?.firstTokenMs, null);
});
