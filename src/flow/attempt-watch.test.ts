import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import { AttemptLog } from './attempt-log.ts';
import type { ClosingHow } from './closing-how.ts';
import {
  answerHead,
  attemptOf,
  bench,
  contextOf,
  deploymentOf,
  forwarded,
  requestOf,
  usageOf,
} from './flow-kit.test.ts';

const LEFT = { kind: 'left' };
const failedWith = (status: number | null, retryAfterMs: number | null = null) => ({
  kind: 'failed',
  status,
  retryAfterMs,
});

/** A log whose tries are watched. */
function open(over: object = {}) {
  const { options, clock, watched } = bench();
  const log = new AttemptLog({ ...options, ctx: contextOf({ startedAt: 1000, ...over }) });
  const start = (backend: string) => log.start(attemptOf(deploymentOf(backend), log.count + 1));
  return { log, start, clock, watched };
}

test('each try is watched with what it has to do, and ends once', () => {
  const { log, start, watched } = open({ request: requestOf({ stream: true, maxOutputTokens: 33, promptTokens: 5 }) });
  start('a');
  const work = watched[0]?.work;
  assert.deepEqual(
    [work?.kind, work?.stream, work?.promptTokens, work?.outputTokens, work?.deadline],
    ['chat.stream', true, 5, 33, 30_000],
  );
  log.firstToken();
  log.firstToken();
  log.leave({ kind: 'complete' }, usageOf(5, 9));
  log.leave({ kind: 'cut', by: 'upstream' }, usageOf(5, 9));
  assert.deepEqual(watched[0]?.told, ['first token', { kind: 'served', completionTokens: 9 }]);
});

test('a try that another one follows has failed, with what it said', () => {
  const { log, start, watched } = open();
  start('a');
  start('b');
  log.answered(429, 2000);
  start('c');
  log.answered(200);
  log.leave({ kind: 'complete' }, usageOf(1, 2));
  assert.deepEqual(
    watched.map(({ id, told }) => [id, told]),
    [
      ['m@a', [failedWith(null)]],
      ['m@b', [failedWith(429, 2000)]],
      ['m@c', [{ kind: 'served', completionTokens: 2 }]],
    ],
  );
});

test('the first token belongs to the try that gave it', () => {
  const { log, start, watched } = open();
  start('a');
  start('b');
  log.firstToken();
  assert.deepEqual(
    watched.map(({ told }) => told),
    [[failedWith(null)], ['first token']],
  );
});

test('who is to blame for how the last try ended', () => {
  const failed = (code: ConstructorParameters<typeof GatewayError>[0]): ClosingHow => ({
    kind: 'failed',
    error: new GatewayError(code, 'x'),
  });
  const cases: readonly (readonly [name: string, how: ClosingHow, status: number | null, told: object])[] = [
    ['the upstream broke', { kind: 'cut', by: 'upstream' }, 200, failedWith(200)],
    ['the client left', { kind: 'cut', by: 'client' }, 200, LEFT],
    ['we shut down', { kind: 'cut', by: 'shutdown' }, 200, LEFT],
    ['silence until the time was up', failed('upstream_timeout'), null, failedWith(null)],
    ['nobody was there', failed('upstream_unreachable'), null, failedWith(null)],
    ['senseless bytes', failed('upstream_invalid_response'), 200, failedWith(200)],
    ['it refused with reason', failed('upstream_rejected'), 400, LEFT],
    ['full', failed('upstream_rate_limited'), 429, failedWith(429)],
    ['our own fault', failed('internal_error'), null, LEFT],
    ['answered by us', { kind: 'answered', status: 200 }, null, LEFT],
  ];
  for (const [name, how, status, told] of cases) {
    const { log, start, watched } = open();
    start('a');
    if (status !== null) log.answered(status);
    log.leave(how, usageOf(1, 1));
    assert.deepEqual(watched[0]?.told, [told], name);
  }
});

test('time that is up blames silence, and nobody who was still speaking', () => {
  for (const spoke of [false, true]) {
    const { log, start, watched } = open();
    start('a');
    if (spoke) log.firstToken();
    log.leave({ kind: 'cut', by: 'deadline' }, usageOf(1, 1));
    assert.deepEqual(watched[0]?.told.at(-1), spoke ? LEFT : failedWith(null));
  }
});

test('a whole request tells its try: first token, then its end with the tokens it gave', async () => {
  const made = bench();
  const { flow } = await forwarded(made, { stream: true });
  flow.onResponseHead(answerHead(200), false);
  flow.onResponseBody(Buffer.from('role'), false);
  assert.deepEqual(made.watched[0]?.told, []);
  flow.onResponseBody(Buffer.from('out:hello'), false);
  assert.deepEqual(made.watched[0]?.told, ['first token']);
  flow.onResponseBody(Buffer.from('fin|usage:3,5|done'), true);
  assert.deepEqual(made.watched[0]?.told, ['first token', { kind: 'served', completionTokens: 5 }]);
});

test('a stream that breaks in its middle is the fault of who broke it', async () => {
  const made = bench();
  const { flow } = await forwarded(made, { stream: true });
  flow.onResponseHead(answerHead(200), false);
  flow.onResponseBody(Buffer.from('out:hello'), false);
  flow.onResponseBody(Buffer.from('cut'), true);
  assert.deepEqual(made.watched[0]?.told, ['first token', failedWith(200)]);
});

test('a last try that is full says so, with its wish to be left alone', async () => {
  const made = bench();
  const { flow } = await forwarded(made);
  flow.onResponseHead(answerHead(429, [['retry-after', '3']]), false);
  flow.onResponseBody(Buffer.from('error:upstream_rate_limited'), true);
  assert.deepEqual(made.watched[0]?.told, [failedWith(429, 3000)]);
});

test('a time limit that the client chose blames nobody, the operator’s does', () => {
  const timeUp: ClosingHow = { kind: 'failed', error: new GatewayError('upstream_timeout', 'x') };
  for (const [deadline, told] of [
    [1500, LEFT],
    [31_000, failedWith(null)],
  ] as const) {
    // The kit's operator allows 30 s from 1 s on.
    const { log, start, clock, watched } = open({ deadline });
    start('a');
    clock.at = deadline;
    log.leave(timeUp, usageOf(0, 0));
    assert.deepEqual(watched[0]?.told, [told], String(deadline));
  }
});
