import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import type { RequestReply } from '../core/exchange.ts';
import { DirectPath } from './direct-path.ts';
import {
  answerHead,
  bench,
  type BenchOptions,
  code,
  deploymentOf,
  headOf,
  openRequest,
  responded,
  settled,
} from './flow-kit.test.ts';

const BODY = Buffer.from('{}');

function directBench(options: BenchOptions = {}) {
  const made = bench(options);
  return { ...made, options: { ...made.options, direct: new DirectPath(made.options.clock) } };
}

function ask(made: ReturnType<typeof directBench>, { trailers = false, head = headOf() } = {}) {
  const opened = openRequest(made);
  void opened.flow.onRequestHead(head, false);
  const reply = opened.flow.onRequestBody(BODY, true, trailers) as RequestReply;
  return { ...opened, reply };
}

function forwarded(reply: RequestReply) {
  assert.equal(reply.kind, 'forward');
  return { ...reply, header: (name: string) => reply.mutation.set?.find(([given]) => given === name)?.[1] };
}

const isDirect = (reply: RequestReply): boolean => forwarded(reply).header('x-tokenlat-watch') === 'direct';

test('a plan of one candidate goes out as its backend gets it, and its first try has begun', async () => {
  const made = directBench();
  const head = headOf([
    ['x-tokenlat-affinity', 'key'],
    ['x-forwarded-proto', 'http'],
    ['x-forwarded-for', '10.0.0.1'],
  ]);
  const { flow, reply } = ask(made, { head });
  const { body, header, mutation } = forwarded(reply);
  assert.ok(body !== undefined && body.length > 0);
  assert.equal(header('x-tokenlat-watch'), 'direct');
  assert.ok(header(':path') !== undefined && header('x-envoy-max-retries') !== undefined);
  assert.deepEqual(
    [header(':authority'), header(':method')],
    [undefined, undefined],
    'not for the router level to set',
  );
  assert.match(JSON.stringify(mutation.metadata?.['tokenlat.request']), /"host":"[^"]+"/);
  const removed = mutation.remove ?? [];
  assert.ok(removed.includes('authorization') && removed.includes('x-forwarded-for'));
  assert.ok(!removed.some((name) => name === 'x-forwarded-proto' || name.startsWith('x-tokenlat-')));
  assert.equal(made.tries.length, 1);
  assert.equal(made.streams.attempt, 0);
  assert.equal(flow.closing.attempts.count, 1);
  assert.ok(made.calls.includes('schedule.attempt'));
  flow.onResponseHead(answerHead(), false);
  flow.onResponseBody(Buffer.from('out:hello|fin|done'), true);
  await settled();
  assert.deepEqual(
    made.endings.map(({ kind, attempts }) => [kind, attempts.length, attempts[0]?.outcome]),
    [['complete', 1, 'served']],
  );
});

test('several candidates, trailers and a path that is closed go the long way', () => {
  assert.ok(!isDirect(ask(directBench({ deployments: [deploymentOf('a'), deploymentOf('b')] })).reply));
  assert.ok(!isDirect(ask(directBench(), { trailers: true }).reply));
  const made = directBench();
  made.options.direct.close();
  assert.ok(!isDirect(ask(made).reply));
  made.clock.at += 60_000;
  assert.ok(isDirect(ask(made).reply));
});

test('a stream of the first try claims it, once, and closes the path; a further try counts as ever', async () => {
  const made = directBench();
  const { flow } = ask(made);
  const opened = await flow.attempt('a').onRequestHead(headOf([['x-envoy-attempt-count', '1']]));
  assert.equal(opened.kind, 'replace');
  assert.equal(flow.closing.attempts.count, 1);
  assert.equal(made.tries.length, 1);
  assert.equal(made.options.direct.isOpen(), false);
  assert.equal((await flow.attempt('a').onRequestHead(headOf([['x-envoy-attempt-count', '1']]))).kind, 'respond');
  assert.equal((await flow.attempt('a').onRequestHead(headOf([['x-envoy-attempt-count', '2']]))).kind, 'replace');
  assert.equal(flow.closing.attempts.count, 2);
  flow.close();
});

test('a further try alone leaves the path open, and the first one has failed', async () => {
  const made = directBench();
  const { flow } = ask(made);
  assert.equal((await flow.attempt('a').onRequestHead(headOf([['x-envoy-attempt-count', '2']]))).kind, 'replace');
  assert.equal(made.options.direct.isOpen(), true);
  assert.equal(made.tries.length, 2);
  assert.deepEqual([made.tries[0]?.ends[0]?.failed, made.tries[1]?.ends.length], [true, 0]);
  flow.close();
});

test('what is longer than Envoy keeps is made again by its try, and the path stays open', async () => {
  const made = directBench({ config: { limits: { bodyBytes: 2, eventBytes: 1000, responseBytes: 1000 } } });
  const { flow, reply } = ask(made);
  assert.ok(!isDirect(reply) && forwarded(reply).body === undefined);
  assert.equal((await flow.attempt('a').onRequestHead(headOf([['x-envoy-attempt-count', '1']]))).kind, 'replace');
  assert.equal(flow.closing.attempts.count, 1);
  assert.equal(made.options.direct.isOpen(), true);
  flow.close();
});

test('where Envoy had nobody to ask, the try is struck out, and nobody is blamed', async () => {
  const made = directBench();
  const { flow } = ask(made);
  flow.onResponseHead(answerHead(503, [['x-tokenlat-local', 'no_healthy_upstream']]), false);
  await settled();
  assert.deepEqual(
    made.endings.map(({ kind, attempts }) => [kind, attempts.length]),
    [['failed', 0]],
  );
  assert.equal(made.tries[0]?.ends[0]?.failed, false);
});

test('a try that cannot be made is refused before anything is sent', async () => {
  const made = directBench({
    behave: {
      'schedule.attempt': () => {
        throw new GatewayError('invalid_header', 'No.');
      },
    },
  });
  const { reply } = ask(made);
  assert.equal(responded(reply).status, 400);
  assert.equal(code(reply), 'invalid_header');
  await settled();
  assert.equal(made.endings.length, 1);
});
