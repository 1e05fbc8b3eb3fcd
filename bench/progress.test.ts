import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress } from './progress.ts';

test('the time left is the estimate at first, and follows the pace of what is done', () => {
  let time = 1000;
  const progress = createProgress({ totalMs: 100_000, now: () => time });
  assert.equal(progress.text(), '0:00 passed, about 1:40 left');
  time += 40_000;
  progress.done(20_000);
  assert.equal(progress.text(), '0:40 passed, about 2:40 left', 'it took twice as long as estimated');
  time += 20_000;
  progress.done(100_000);
  assert.equal(progress.text(), '1:00 passed, about 0:00 left', 'never less than nothing');
});
