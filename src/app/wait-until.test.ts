import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from './wait-until.ts';

test('a check is asked until it is true, at once at first', async () => {
  let asked = 0;
  assert.equal(await waitUntil(() => (asked += 1) === 1, { timeoutMs: 1000, everyMs: 1 }), true);
  assert.equal(await waitUntil(async () => (asked += 1) === 4, { timeoutMs: 1000, everyMs: 1 }), true);
  assert.equal(asked, 4);
});

test('it is given up after its time, or when there is no more point', async () => {
  const began = performance.now();
  assert.equal(await waitUntil(() => false, { timeoutMs: 40, everyMs: 5 }), false);
  assert.ok(performance.now() - began >= 39);
  let asked = 0;
  assert.equal(
    await waitUntil(() => ((asked += 1), false), { timeoutMs: 5000, everyMs: 1, stop: () => asked === 3 }),
    false,
  );
  assert.equal(asked, 3);
});

test('a check that throws is not swallowed', async () => {
  await assert.rejects(
    waitUntil(() => Promise.reject(new Error('broken')), { timeoutMs: 100 }),
    /broken/,
  );
});
