import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import { isPromise } from '../core/maybe-promise.ts';
import {
  answerHead,
  bench,
  code,
  deploymentOf,
  forwarded,
  headOf,
  openRequest,
  responded,
  sent,
  settled,
  usageOf,
} from './flow-kit.test.ts';

const HOLD = { kind: 'hold' };
const BODY = Buffer.from('{}');
const refuse = (name: ConstructorParameters<typeof GatewayError>[0]) => () => {
  throw new GatewayError(name, 'Refused.');
};
const names = (headers: readonly (readonly [string, string])[]) => Object.fromEntries(headers);

/** Every station has finished, once, and nothing is left open. */
async function assertEnded(made: ReturnType<typeof bench>, kind: string): Promise<void> {
  await settled();
  assert.deepEqual(
    made.endings.map((ending) => ending.kind),
    [kind],
  );
  assert.equal(made.calls.filter((call) => call.endsWith('.finish')).length, 6);
  assert.deepEqual([made.options.live.size, made.streams.request], [0, 0]);
}

test('a request goes on when its head and its body are here and every station agrees', async () => {
  const made = bench({ deployments: [deploymentOf('a'), deploymentOf('b')] });
  const { flow } = openRequest(made);
  assert.deepEqual(flow.onRequestHead(headOf(), false), HOLD);
  assert.deepEqual(flow.onRequestBody(Buffer.from('{"stre'), false), HOLD);
  const reply = flow.onRequestBody(Buffer.from('am":true}'), true);
  assert.equal(isPromise(reply), false, 'stations that answer at once leave it in one turn');
  assert.equal(!isPromise(reply) && reply.kind, 'forward');
  assert.equal(flow.watch, 'body');
  assert.deepEqual(
    flow.plan.map((each) => each.deployment.backend.name),
    ['a', 'b'],
  );
  const order = ['authenticate', 'schedule', 'route', 'enhance', 'adapt', 'wrap'];
  const asked = ['head', 'run', 'place'].flatMap((moment) => order.map((name) => `${name}.${moment}`));
  assert.deepEqual(made.calls, asked);
  assert.deepEqual([made.options.live.size, made.streams.request], [1, 1]);
  flow.close();
});

test('the plan begins at the candidate that has room', async () => {
  const made = bench({ deployments: [deploymentOf('a'), deploymentOf('b')], start: 1 });
  const { flow } = openRequest(made);
  void flow.onRequestHead(headOf(), false);
  await flow.onRequestBody(BODY, true);
  assert.deepEqual(
    flow.plan.map((each) => each.deployment.backend.name),
    ['b'],
  );
  flow.close();
});

test('stations that wait are waited for, with the body in whatever pieces', async () => {
  const slow = async () => ({});
  const made = bench({ behave: { 'authenticate.head': slow, 'route.place': slow } });
  const { flow } = openRequest(made);
  const head = flow.onRequestHead(headOf(), false);
  assert.deepEqual(flow.onRequestBody(Buffer.from('{'), false), HOLD);
  const body = flow.onRequestBody(Buffer.from('}'), true);
  assert.deepEqual(await head, HOLD);
  assert.equal((await body).kind, 'forward');
  flow.close();
});

test('a bad credential is answered at once, while the body still comes', async () => {
  const made = bench({ behave: { 'authenticate.head': refuse('invalid_credentials') } });
  const { flow } = openRequest(made);
  const reply = await flow.onRequestHead(headOf([['x-request-id', 'mine']]), false);
  const { status, headers } = responded(reply);
  assert.deepEqual([status, names(headers)['x-request-id'], code(reply)], [401, 'mine', 'invalid_credentials']);
  assert.deepEqual(flow.onRequestBody(Buffer.alloc(1000), false), HOLD, 'even past the limit');
  assert.deepEqual(flow.onRequestBody(BODY, true), HOLD);
  assert.ok(!made.calls.includes('schedule.run'));
  await assertEnded(made, 'failed');
});

test('a credential that turns out bad after the body came is told once', async () => {
  const made = bench({ behave: { 'authenticate.head': async () => refuse('expired_credentials')() } });
  const { flow } = openRequest(made);
  const replies = await Promise.all([flow.onRequestHead(headOf(), false), flow.onRequestBody(BODY, true)]);
  assert.deepEqual(replies.map((reply) => reply.kind).toSorted(), ['hold', 'respond']);
  await assertEnded(made, 'failed');
});

test('a body past the limit is refused as soon as it is, and the limit itself passes', async () => {
  const fit = bench();
  const { flow: passing } = openRequest(fit);
  void passing.onRequestHead(headOf(), false);
  void passing.onRequestBody(Buffer.from('{}'.padEnd(60)), false);
  assert.equal((await passing.onRequestBody(Buffer.from(' '.repeat(40)), true)).kind, 'forward');
  passing.close();
  const made = bench();
  const { flow } = openRequest(made);
  void flow.onRequestHead(headOf(), false);
  void flow.onRequestBody(Buffer.alloc(60), false);
  const reply = await flow.onRequestBody(Buffer.alloc(41), false);
  assert.deepEqual([responded(reply).status, code(reply)], [413, 'request_too_large']);
  assert.deepEqual(flow.onRequestBody(BODY, true), HOLD);
  await assertEnded(made, 'failed');
});

test('what cannot be understood is refused with its own code', async () => {
  const made = bench();
  const { flow } = openRequest(made);
  void flow.onRequestHead(headOf(), false);
  assert.equal(code(await flow.onRequestBody(Buffer.from('bad'), true)), 'invalid_json');
  assert.deepEqual(made.logged, []);
  await assertEnded(made, 'failed');
});

test('each station may refuse, at each moment, at once or later', async () => {
  for (const name of ['authenticate', 'schedule', 'route', 'enhance'] as const) {
    for (const moment of ['head', 'run', 'place'] as const) {
      for (const does of [refuse('no_candidate'), async () => refuse('no_candidate')()]) {
        const made = bench({ behave: { [`${name}.${moment}`]: does } });
        const { flow } = openRequest(made);
        const reply = await flow.onRequestHead(headOf(), true);
        assert.equal(code(reply), 'no_candidate', `${name}.${moment}`);
        await assertEnded(made, 'failed');
      }
    }
  }
});

test('a station may answer itself, at each moment', async () => {
  const response = { status: 203, headers: [['x-own', '1']] as const, body: Buffer.from('own'), details: 'own' };
  for (const moment of ['authenticate.head', 'schedule.run', 'enhance.run'] as const) {
    for (const does of [() => ({ respond: response }), async () => ({ respond: response })]) {
      const made = bench({ behave: { [moment]: does } });
      const { flow } = openRequest(made);
      const reply = await flow.onRequestHead(headOf([['x-request-id', 'mine']]), true);
      const { status, headers, text } = responded(reply);
      assert.deepEqual(
        [status, text, names(headers)['x-own'], names(headers)['x-request-id']],
        [203, 'own', '1', 'mine'],
      );
      await assertEnded(made, 'complete');
      assert.equal(made.endings[0]?.status, 203);
    }
  }
});

test('a fault of ours is told to the log and not to the client', async () => {
  const bug = () => {
    throw new TypeError('secret');
  };
  for (const behave of [{ 'route.run': bug }, { 'route.run': async () => bug() }, { 'authenticate.head': bug }]) {
    const made = bench({ behave });
    const { flow } = openRequest(made);
    const reply = await flow.onRequestHead(headOf(), true);
    assert.deepEqual([responded(reply).status, code(reply)], [500, 'internal_error']);
    assert.doesNotMatch(responded(reply).text, /secret/);
    assert.deepEqual([made.logged, made.anomalies], [['request failed inside the gateway'], ['internal_error']]);
    await assertEnded(made, 'failed');
  }
});

test('a path or a method that is not served is refused before anything begins', async () => {
  for (const [head, want] of [
    [headOf([], { path: '/nowhere' }), 'unknown_endpoint'],
    [headOf([], { method: 'GET' }), 'method_not_allowed'],
    [headOf([['x-request-timeout-ms', 'soon']]), 'invalid_header'],
    [headOf([['content-encoding', 'gzip']]), 'unsupported_content_encoding'],
  ] as const) {
    const made = bench();
    const { flow } = openRequest(made);
    assert.equal(code(await flow.onRequestHead(head, false)), want);
    assert.deepEqual(flow.onRequestBody(BODY, true), HOLD);
    flow.close();
    flow.shutDown();
    await settled();
    assert.deepEqual([made.calls, made.options.live.size, made.streams.request], [[], 0, 0]);
  }
});

test('our own endpoints are answered to those who are known, and to nobody else', async () => {
  const list = headOf([], { method: 'GET', path: '/v1/models' });
  const made = bench();
  const { flow } = openRequest(made);
  const { status, text } = responded(await flow.onRequestHead(list, true));
  assert.deepEqual([status, JSON.parse(text).data[0].id], [200, 'm']);
  assert.ok(!made.calls.includes('schedule.run'), 'a list costs no quota');
  await assertEnded(made, 'complete');
  const closed = bench({ behave: { 'authenticate.head': refuse('missing_credentials') } });
  assert.equal(code(await openRequest(closed).flow.onRequestHead(list, true)), 'missing_credentials');
  await assertEnded(closed, 'failed');
  const missing = bench();
  const show = headOf([], { method: 'GET', path: '/v1/models/nowhere' });
  assert.equal(code(await openRequest(missing).flow.onRequestHead(show, true)), 'model_not_found');
  await assertEnded(missing, 'failed');
});

test('a message before the head is a fault of ours', async () => {
  const made = bench();
  const { flow } = openRequest(made);
  assert.equal(code(await flow.onRequestBody(BODY, true)), 'internal_error');
  assert.throws(() => flow.plan, GatewayError);
  assert.throws(() => flow.closing, GatewayError);
});

test('a stream comes back with the headers of its request, and ends with what it used', async () => {
  const made = bench();
  const { flow } = await forwarded(made, { stream: true, includeUsage: true });
  assert.deepEqual(flow.onResponseHead(answerHead(200, [['content-type', 'text/event-stream']]), false), HOLD);
  made.clock.at = 1100;
  const first = sent(flow.onResponseBody(Buffer.from('role|out:hi'), false));
  assert.deepEqual(
    ['x-request-id', 'x-route-id', 'x-tokenlat-backend', 'x-tokenlat-attempts', 'x-limits'].map((name) =>
      first.header(name),
    ),
    ['mine', 'r', 'a', '1', '0'],
  );
  made.clock.at = 1200;
  sent(flow.onResponseBody(Buffer.from('fin|usage:10,5|done'), false));
  const last = sent(flow.onResponseBody(Buffer.alloc(0), true));
  assert.equal(last.end, true);
  assert.equal(last.metadata?.['tokenlat.usage']?.['total_tokens'], 15);
  await assertEnded(made, 'complete');
  const [ending] = made.endings;
  assert.deepEqual(
    [ending?.status, ending?.usage, ending?.firstTokenMs, ending?.totalMs],
    [200, usageOf(10, 5), 100, 200],
  );
});

test('a whole answer comes back with its usage in headers', async () => {
  const made = bench();
  const { flow } = await forwarded(made);
  assert.deepEqual(flow.onResponseHead(answerHead(), false), HOLD);
  assert.deepEqual(flow.onResponseBody(Buffer.from('answer:yes:10,5'), false), HOLD);
  const reply = sent(flow.onResponseBody(Buffer.alloc(0), true));
  assert.deepEqual(
    ['x-prompt-tokens', 'x-completion-tokens', 'x-total-tokens', 'x-request-cost', 'x-request-cost-currency'].map(
      (name) => reply.header(name),
    ),
    ['10', '5', '15', '0.000020', 'EUR'],
  );
  await assertEnded(made, 'complete');
});

test('an answer without a body is one that broke', async () => {
  const made = bench();
  const { flow } = await forwarded(made);
  const reply = sent(flow.onResponseHead(answerHead(204), true));
  assert.deepEqual([reply.header(':status'), reply.end], ['502', true]);
  await assertEnded(made, 'failed');
});

test("Envoy's own answer becomes our error, and one that no try gave is not believed", async () => {
  const local = bench();
  const { flow } = await forwarded(local);
  const reply = sent(flow.onResponseHead(answerHead(503, [['x-tokenlat-local', 'no_healthy_upstream']]), false));
  assert.deepEqual([reply.header(':status'), JSON.parse(reply.text).error.code], ['503', 'upstream_unreachable']);
  assert.ok(reply.head?.remove?.includes('x-tokenlat-local'));
  assert.equal(reply.metadata?.['tokenlat.usage']?.['request_id'], 'mine', "for Envoy's access log");
  await assertEnded(local, 'failed');
  const strange = bench();
  const opened = openRequest(strange);
  void opened.flow.onRequestHead(headOf(), true);
  const refused = sent(opened.flow.onResponseHead(answerHead(200), false));
  assert.equal(refused.header(':status'), '500');
  await assertEnded(strange, 'failed');
});

test('why a try was refused is what the client reads, whatever the proxy made of it', async () => {
  const made = bench({ behave: { 'schedule.attempt': refuse('deployment_saturated') } });
  const { flow } = openRequest(made);
  assert.equal((await flow.onRequestHead(headOf(), true)).kind, 'forward');
  assert.equal((await flow.attempt('a').onRequestHead(headOf())).kind, 'respond');
  const reply = sent(flow.onResponseHead(answerHead(500, [['x-tokenlat-local', 'ext_proc_error']]), false));
  assert.deepEqual([reply.header(':status'), JSON.parse(reply.text).error.code], ['429', 'deployment_saturated']);
  await assertEnded(made, 'failed');
});

test('an answer of another filter to a request that we never saw passes as it is', () => {
  const { flow } = openRequest(bench());
  assert.deepEqual(flow.onResponseHead(answerHead(403), false), {
    kind: 'send',
    head: { set: [] },
    chunks: [],
    end: false,
  });
  const chunk = Buffer.from('denied');
  assert.deepEqual(flow.onResponseBody(chunk, true), { kind: 'send', chunks: [chunk], end: true });
});

test('a fault while the answer is read becomes our error, before its head and after', async () => {
  const early = bench();
  const { flow } = await forwarded(early, { stream: true });
  flow.onResponseHead(answerHead(), false);
  const reply = sent(flow.onResponseBody(Buffer.from('nonsense'), false));
  assert.deepEqual([reply.header(':status'), reply.end], ['500', true]);
  assert.doesNotMatch(reply.text, /secret/);
  await assertEnded(early, 'failed');
  assert.deepEqual(early.anomalies, ['internal_error']);
  const late = bench();
  const begun = (await forwarded(late, { stream: true })).flow;
  begun.onResponseHead(answerHead(), false);
  begun.onResponseBody(Buffer.from('out:hello'), false);
  for (const odd of ['out:unwritable', 'nonsense']) {
    const broken = begun.onResponseBody(Buffer.from(odd), false);
    if (broken.kind === 'send') assert.equal(sent(broken).text, '!internal_error\n[DONE]\n');
  }
  await assertEnded(late, 'failed');
});
