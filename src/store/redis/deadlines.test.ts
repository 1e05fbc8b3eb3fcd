import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deadlines } from './deadlines.ts';

test('who is not done in time is told, who is done is not, and each has all of its time', async () => {
  const deadlines = new Deadlines(40);
  const late: string[] = [];
  const began = performance.now();
  const one = deadlines.begin(() => late.push('one'));
  deadlines.begin(() => late.push('two'));
  deadlines.end(one);
  await sleep(25);
  deadlines.begin(() => late.push(`three after ${performance.now() - began >= 64}`));
  while (late.length < 2) await sleep(5);
  assert.deepEqual(late, ['two', 'three after true']);
});

test('an answer that comes in the turn after the deadline counts as in time', async () => {
  const deadlines = new Deadlines(20);
  let isLate = false;
  const deadline = deadlines.begin(() => {
    isLate = true;
  });
  const until = performance.now() + 60;
  // A loop that stands still: the answer lies in the socket when it goes on.
  while (performance.now() < until);
  setImmediate(() => deadlines.end(deadline));
  await sleep(50);
  assert.equal(isLate, false);
});

test('many calls that end in time leave nothing behind, in whatever order they end', async () => {
  const deadlines = new Deadlines(30);
  let late = 0;
  const all = Array.from({ length: 5000 }, () =>
    deadlines.begin(() => {
      late += 1;
    }),
  );
  for (const deadline of all.toReversed()) deadlines.end(deadline);
  const [last] = [deadlines.begin(() => (late += 1))];
  deadlines.end(last);
  await sleep(60);
  assert.equal(late, 0);
});
