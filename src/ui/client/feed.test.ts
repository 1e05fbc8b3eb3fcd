import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Result } from './api.ts';
import { fakeTime } from './client-kit.test.ts';
import { Feed } from './feed.ts';
import { AWAY, problemOf } from './problem.ts';

function kit() {
  const clock = fakeTime();
  const changes: number[] = [];
  const lost: string[] = [];
  const asked = new Map<string, number>();
  let answer: (key: string) => Result<unknown> | Promise<Result<unknown>> = () => ({ ok: true, value: clock.time() });
  const feed = new Feed({
    time: clock.time,
    later: clock.later,
    onChange: () => void changes.push(clock.time()),
    onSignedOut: ({ kind }) => void lost.push(kind),
  });
  const need = (key: string, everyMs: number) => ({
    key,
    everyMs,
    load: async () => {
      asked.set(key, (asked.get(key) ?? 0) + 1);
      return await answer(key);
    },
  });
  return {
    clock,
    feed,
    need,
    changes,
    lost,
    count: (key: string) => asked.get(key) ?? 0,
    answers: (next: typeof answer) => void (answer = next),
  };
}

test('each need is asked in its own time, and only while it is wanted', async () => {
  const { clock, feed, need, count } = kit();
  feed.want([need('fast', 2000), need('slow', 30_000)]);
  await clock.pass(10_000);
  assert.deepEqual([count('fast'), count('slow')], [6, 1]);
  feed.want([need('slow', 30_000)]);
  await clock.pass(60_000);
  assert.deepEqual([count('fast'), count('slow')], [6, 3]);
  assert.ok(feed.part('fast').value !== null, 'what is known stays known');
  feed.want([need('slow', 30_000)]);
  assert.equal(clock.waiting(), 1, 'wanting again starts nothing twice');
  feed.refresh();
  await clock.pass(0);
  assert.equal(count('slow'), 4);
});

test('failures keep the last value, wait longer each time, and end with a success', async () => {
  const { clock, feed, need, count, answers } = kit();
  feed.want([need('live', 2000)]);
  await clock.pass(0);
  const { value } = feed.part('live');
  answers(() => ({ ok: false, problem: AWAY }));
  await clock.pass(2000);
  assert.deepEqual(feed.part('live'), { value, at: value, problem: AWAY });
  const before = count('live');
  // After 2, 4, 8, 16 and 32 seconds.
  await clock.pass(62_000);
  assert.equal(count('live') - before, 5);
  answers(() => ({ ok: true, value: 'new' }));
  await clock.pass(60_000);
  assert.equal(feed.part('live').problem, null);
  const after = count('live');
  await clock.pass(10_000);
  assert.equal(count('live') - after, 5, 'and it is as quick as before');
});

test('a server that says when is asked no earlier', async () => {
  const { clock, feed, need, count, answers } = kit();
  answers(() => ({ ok: false, problem: problemOf({ status: 429, code: null, message: null, retryAfter: '45' }) }));
  feed.want([need('live', 2000)]);
  await clock.pass(44_000);
  assert.equal(count('live'), 1);
  await clock.pass(2000);
  assert.equal(count('live'), 2);
});

test('nothing is asked while paused, and what is due is asked at once after', async () => {
  const { clock, feed, need, count } = kit();
  feed.want([need('live', 2000), need('slow', 30_000)]);
  await clock.pass(0);
  feed.pause();
  await clock.pass(20_000);
  assert.deepEqual([count('live'), count('slow'), clock.waiting()], [1, 1, 0]);
  feed.resume();
  feed.resume();
  await clock.pass(0);
  assert.deepEqual([count('live'), count('slow')], [2, 1]);
});

test('an answer that comes after everything was forgotten is forgotten too', async () => {
  const { clock, feed, need, answers, changes } = kit();
  let give: (result: Result<unknown>) => void = () => {};
  answers(() => new Promise((resolve) => (give = resolve)));
  feed.want([need('live', 2000)]);
  await clock.pass(0);
  feed.clear();
  give({ ok: true, value: 'of another caller' });
  await clock.pass(5000);
  assert.equal(feed.part('live').value, null);
  assert.deepEqual([changes.length, clock.waiting()], [0, 0]);
});

test('a token that opens nothing any more is told, and not tried again', async () => {
  const { clock, feed, need, answers, lost, count } = kit();
  answers(() => ({ ok: false, problem: problemOf({ status: 401, code: null, message: null, retryAfter: null }) }));
  feed.want([need('live', 2000)]);
  await clock.pass(60_000);
  assert.deepEqual([lost, count('live')], [['signed-out'], 1]);
});
