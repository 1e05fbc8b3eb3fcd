import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { GatewayError } from '../core/error.ts';
import {
  answerHead,
  bench,
  type Bench,
  code,
  deploymentOf,
  forwarded,
  headOf,
  openRequest,
  responded,
  sent,
  settled,
} from './flow-kit.test.ts';

const BODY = Buffer.from('{}');
const never = () => new Promise<never>(() => {});
const words = (text: string) => Buffer.from(text);

/** Times that pass for the clock and the timers alike. */
function pass(t: TestContext, made: Bench, ms: number): void {
  made.clock.at += ms;
  t.mock.timers.tick(ms);
}

async function assertEndedOnce(made: Bench): Promise<Bench['endings'][number]> {
  await settled();
  const finishes = made.calls.filter((call) => call.endsWith('.finish'));
  assert.deepEqual(
    finishes,
    ['wrap', 'adapt', 'enhance', 'route', 'schedule', 'authenticate'].map((name) => `${name}.finish`),
  );
  assert.equal(made.endings.length, 1);
  assert.deepEqual([made.options.live.size, made.streams.request], [0, 0], 'nothing is left open');
  return made.endings[0]!;
}

/** Every way in which a request can be under way, each with a request that is there. */
const PHASES: Readonly<Record<string, (made: Bench) => Promise<ReturnType<typeof openRequest>>>> = {
  async 'while the credential is checked'(made) {
    const opened = openRequest(made);
    void opened.flow.onRequestHead(headOf(), false);
    return opened;
  },
  async 'while the body comes'(made) {
    const opened = openRequest(made);
    await opened.flow.onRequestHead(headOf(), false);
    void opened.flow.onRequestBody(words('{'), false);
    return opened;
  },
  async 'while a station waits'(made) {
    const opened = openRequest(made);
    void opened.flow.onRequestHead(headOf(), true);
    await settled();
    return opened;
  },
  async 'before the first try'(made) {
    const opened = openRequest(made);
    assert.equal((await opened.flow.onRequestHead(headOf(), true)).kind, 'forward');
    return opened;
  },
  'while the upstream is silent': (made) => forwarded(made, { stream: true }),
  async 'after the upstream told its head'(made) {
    const opened = await forwarded(made, { stream: true });
    opened.flow.onResponseHead(answerHead(), false);
    return opened;
  },
  async 'after our head and before any output'(made) {
    const opened = await forwarded(made, { stream: true });
    opened.flow.onResponseHead(answerHead(), false);
    sent(opened.flow.onResponseBody(words('role'), false));
    return opened;
  },
  async 'in the middle of a stream'(made) {
    const opened = await forwarded(made, { stream: true });
    opened.flow.onResponseHead(answerHead(), false);
    sent(opened.flow.onResponseBody(words('out:hello'), false));
    return opened;
  },
  async 'in the middle of a whole answer'(made) {
    const opened = await forwarded(made);
    opened.flow.onResponseHead(answerHead(), false);
    opened.flow.onResponseBody(words('answer:half'), false);
    return opened;
  },
};

function benchOf(phase: string): Bench {
  if (phase === 'while the credential is checked') return bench({ behave: { 'authenticate.head': never } });
  return bench(phase === 'while a station waits' ? { behave: { 'schedule.run': never } } : {});
}

for (const [phase, reach] of Object.entries(PHASES)) {
  test(`a client that leaves ${phase} ends the request once`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const made = benchOf(phase);
    const { flow, pushed } = await reach(made);
    const { signal } = flow.context;
    flow.close();
    pass(t, made, 300);
    flow.shutDown();
    pass(t, made, 120_000);
    const ending = await assertEndedOnce(made);
    assert.deepEqual([ending.kind, ending.kind === 'cut' && ending.by], ['cut', 'client']);
    const begun = phase.startsWith('after our head') || phase === 'in the middle of a stream';
    assert.equal(ending.status, begun ? 200 : 0);
    assert.ok(signal.aborted, 'what still waits is told');
    assert.deepEqual(pushed, []);
  });

  test(`our shutdown ${phase} ends the request once`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const made = benchOf(phase);
    const { flow } = await reach(made);
    made.options.live.endAll();
    flow.close();
    pass(t, made, 120_000);
    const ending = await assertEndedOnce(made);
    assert.equal(ending.kind === 'cut' && ending.by, 'shutdown');
  });

  test(`a deadline ${phase} ends the request once, and tells the client`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const made = benchOf(phase);
    const { flow, pushed } = await reach(made);
    const { signal } = flow.context;
    pass(t, made, 29_999);
    assert.deepEqual(pushed, []);
    pass(t, made, 1);
    const [told] = pushed;
    assert.equal(pushed.length, 1);
    const ending = await assertEndedOnce(made);
    assert.ok(signal.aborted, 'what still waits is told');
    if (phase === 'in the middle of a stream' || phase === 'after our head and before any output') {
      const tokens = phase === 'in the middle of a stream' ? 2 : 0;
      assert.deepEqual([ending.kind, ending.kind === 'cut' && ending.by, ending.status], ['cut', 'deadline', 200]);
      assert.deepEqual([sent(told).text, sent(told).end], [`length:${tokens}\n[DONE]\n`, true]);
    } else if (phase.startsWith('after') || phase === 'in the middle of a whole answer') {
      assert.deepEqual([sent(told).header(':status'), sent(told).end, ending.status], ['504', true, 504]);
    } else {
      const planned = phase === 'before the first try' || phase === 'while the upstream is silent';
      assert.equal(code(told), planned ? 'upstream_timeout' : 'request_timeout');
      assert.equal(ending.status, responded(told).status);
    }
    flow.close();
    flow.shutDown();
    pass(t, made, 120_000);
    assert.equal(pushed.length, 1);
    await assertEndedOnce(made);
  });

  test(`messages after an end ${phase} change nothing`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const made = benchOf(phase);
    const { flow, pushed } = await reach(made);
    flow.shutDown();
    await assertEndedOnce(made);
    const calls = made.calls.length;
    assert.deepEqual(flow.onRequestBody(BODY, true), { kind: 'hold' });
    const head = flow.onResponseHead(answerHead(500), false);
    assert.equal(head.kind === 'send' && head.end, false);
    flow.onResponseBody(words('out:late|done'), true);
    flow.upstreamCut();
    flow.close();
    pass(t, made, 120_000);
    assert.equal(made.calls.length, calls);
    assert.deepEqual(pushed, []);
    await assertEndedOnce(made);
  });
}

test('a station that answers after the end is not listened to', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const late of ['admission', 'refusal', 'answer'] as const) {
    let wake: (how: unknown) => void = () => {};
    const waiting = new Promise((resolve) => (wake = resolve));
    const made = bench({
      behave: {
        'schedule.run': async () => {
          await waiting;
          if (late === 'refusal') throw new GatewayError('no_candidate', 'x');
          return late === 'answer' ? { respond: { status: 200, headers: [], body: BODY, details: 'x' } } : {};
        },
      },
    });
    const { flow } = openRequest(made);
    const reply = flow.onRequestHead(headOf(), true);
    await settled();
    flow.close();
    wake(null);
    assert.deepEqual(await reply, { kind: 'hold' }, late);
    const ending = await assertEndedOnce(made);
    assert.equal(ending.kind, 'cut');
  }
});

test('a client may ask for less time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const made = bench();
  const { flow, pushed } = openRequest(made);
  await flow.onRequestHead(headOf([['x-request-timeout-ms', '250']]), false);
  pass(t, made, 249);
  assert.equal(pushed.length, 0);
  pass(t, made, 1);
  assert.equal(code(pushed[0]), 'request_timeout');
});

test('a route may allow less time than its request came with, and never more', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [allowed, waited] of [
    [400, 400],
    [90_000, 30_000],
    [null, 30_000],
  ] as const) {
    const made = bench({
      behave: {
        'route.run': () => ({
          decision: {
            route: { id: 'r', timeoutMs: allowed },
            reason: 'model',
            cached: false,
            candidates: [{ deployment: deploymentOf('a'), reason: 'explicit' }],
          },
        }),
      },
    });
    const { flow, pushed } = openRequest(made);
    const reply = await flow.onRequestHead(headOf(), true);
    const backstop =
      reply.kind === 'forward' && reply.mutation.set?.find(([name]) => name === 'x-envoy-upstream-rq-timeout-ms')?.[1];
    assert.equal(backstop, String(waited + 1000));
    pass(t, made, waited - 1);
    assert.equal(pushed.length, 0);
    pass(t, made, 1);
    assert.equal(code(pushed[0]), 'upstream_timeout');
    await assertEndedOnce(made);
  }
});

test('an upstream that stays open behind its answer is not waited for', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [said, patience] of [
    ['out:x|fin|done', 1000],
    ['out:x|fin', 5000],
  ] as const) {
    const made = bench();
    const { flow, pushed } = await forwarded(made, { stream: true });
    flow.onResponseHead(answerHead(), false);
    flow.onResponseBody(words(said), false);
    pass(t, made, patience - 1);
    assert.equal(pushed.length, 0, said);
    pass(t, made, 1);
    assert.equal(sent(pushed[0]).end, true);
    assert.equal((await assertEndedOnce(made)).kind, 'complete');
  }
});

test('an upstream that goes on and on behind its answer does not lengthen that', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const said of ['out:x|fin|done', 'out:x|fin']) {
    const made = bench();
    const { flow, pushed } = await forwarded(made, { stream: true });
    flow.onResponseHead(answerHead(), false);
    flow.onResponseBody(words(said), false);
    for (let turn = 0; turn < 12 && pushed.length === 0; turn += 1) {
      pass(t, made, 500);
      if (pushed.length === 0) flow.onResponseBody(words('ping'), false);
    }
    assert.equal(pushed.length, 1, said);
    assert.equal((await assertEndedOnce(made)).kind, 'complete');
  }
});

test('the wait for an open upstream never lasts past the deadline', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const made = bench();
  const { flow, pushed } = await forwarded(made, { stream: true });
  flow.onResponseHead(answerHead(), false);
  pass(t, made, 29_000);
  flow.onResponseBody(words('out:x|fin'), false);
  pass(t, made, 1000);
  assert.equal(pushed.length, 1);
  await assertEndedOnce(made);
});

test('a client that leaves with [DONE] in its hands has had the whole answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const made = bench();
  const { flow } = await forwarded(made, { stream: true });
  flow.onResponseHead(answerHead(), false);
  flow.onResponseBody(words('out:x|fin|usage:10,5|done'), false);
  flow.close();
  pass(t, made, 1000);
  const ending = await assertEndedOnce(made);
  assert.deepEqual([ending.kind, ending.events[0]?.status, ending.usage.completion], ['complete', 'complete', 5]);
});

test("a stream that broke is the upstream's fault where Envoy says so in time, else the client left", async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const order of ['verdict first', 'close first', 'verdict late'] as const) {
    const made = bench();
    const { flow } = await PHASES['in the middle of a stream']!(made);
    if (order === 'verdict first') flow.upstreamCut();
    flow.close();
    pass(t, made, order === 'verdict late' ? 1000 : 100);
    flow.upstreamCut();
    pass(t, made, 1000);
    const ending = await assertEndedOnce(made);
    assert.equal(ending.kind === 'cut' && ending.by, order === 'verdict late' ? 'client' : 'upstream', order);
  }
});

test('an upstream that falls silent in its answer is not waited for', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const idle = { timeouts: { requestMs: 30_000, maxRequestMs: 60_000, idleMs: 2000 } };
  for (const [said, shown] of [
    ['', '504'],
    ['out:hello', undefined],
  ] as const) {
    const made = bench({ config: idle });
    const { flow, pushed } = await forwarded(made, { stream: true });
    pass(t, made, 5000);
    flow.onResponseHead(answerHead(), false);
    for (let turn = 0; turn < 4; turn += 1) {
      pass(t, made, 1500);
      flow.onResponseBody(words(said), false);
    }
    pass(t, made, 1999);
    assert.deepEqual(pushed, []);
    pass(t, made, 1);
    assert.equal(pushed.length, 1);
    assert.deepEqual([sent(pushed[0]).header(':status'), sent(pushed[0]).end], [shown, true]);
    assert.match(sent(pushed[0]).text, /upstream_timeout/);
    assert.equal((await assertEndedOnce(made)).kind, 'failed');
  }
});

test('an answer that is whole is not made an error by the silence behind it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const said of ['out:x|fin', 'out:x|fin|done']) {
    const made = bench({ config: { timeouts: { requestMs: 30_000, maxRequestMs: 60_000, idleMs: 500 } } });
    const { flow, pushed } = await forwarded(made, { stream: true });
    flow.onResponseHead(answerHead(), false);
    flow.onResponseBody(words(said), false);
    for (let turn = 0; turn < 20; turn += 1) pass(t, made, 500);
    assert.equal(pushed.length, 1);
    assert.doesNotMatch(sent(pushed[0]).text, /!/);
    assert.equal((await assertEndedOnce(made)).kind, 'complete', said);
  }
});

test('silence is not counted once the stream is gone', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const made = bench({ config: { timeouts: { requestMs: 30_000, maxRequestMs: 60_000, idleMs: 200 } } });
  const { flow, pushed } = await PHASES['in the middle of a stream']!(made);
  flow.close();
  pass(t, made, 300);
  const ending = await assertEndedOnce(made);
  assert.deepEqual([ending.kind === 'cut' && ending.by, pushed], ['client', []]);
});

test('a usage beyond all measure still ends its request', async () => {
  const made = bench();
  const { flow } = await forwarded(made, { stream: true });
  flow.onResponseHead(answerHead(), false);
  const most = Number.MAX_SAFE_INTEGER;
  flow.onResponseBody(words(`out:x|fin|usage:${most},${most}|done`), false);
  const reply = sent(flow.onResponseBody(Buffer.alloc(0), true));
  assert.equal(reply.end, true);
  await assertEndedOnce(made);
});

test('tries that Envoy gave up are told at the end, and booked to us', async () => {
  const made = bench({ deployments: [deploymentOf('a'), deploymentOf('b')] });
  const { flow, attempt } = await forwarded(made, { stream: true });
  attempt.onResponseHead(answerHead(), false);
  assert.equal(attempt.onResponseBody(words('error:upstream_overloaded:10,5'), false).kind, 'continue');
  attempt.close();
  assert.equal((await flow.attempt('b').onRequestHead(headOf())).kind, 'replace');
  flow.onResponseHead(answerHead(), false);
  const first = sent(flow.onResponseBody(words('out:hi|fin|usage:1,1|done'), false));
  assert.deepEqual([first.header('x-tokenlat-backend'), first.header('x-tokenlat-attempts')], ['b', '2']);
  sent(flow.onResponseBody(Buffer.alloc(0), true));
  const ending = await assertEndedOnce(made);
  assert.deepEqual(
    ending.attempts.map((each) => each.outcome),
    ['failed_over', 'served'],
  );
  assert.deepEqual(
    ending.events.map((event) => [event.chargedTo, event.cost]),
    [
      ['gateway', 20],
      ['tenant', 3],
    ],
  );
});

test('a try that comes after the end gets nothing', async () => {
  const made = bench();
  const { flow } = await forwarded(made, { stream: true });
  flow.shutDown();
  const opened = await flow.attempt('a').onRequestHead(headOf());
  assert.equal(opened.kind === 'respond' && opened.response.status, 503);
});

test('a configuration that changes meanwhile is for the next request', async () => {
  const made = bench();
  const seen: RequestContext['config'][] = [];
  const { flow } = openRequest(made);
  Object.assign(made.options, { config: () => assert.fail('asked again') });
  await flow.onRequestHead(headOf(), true);
  seen.push(flow.context.config);
  assert.equal(seen[0]?.generation, 1);
  flow.close();
});
