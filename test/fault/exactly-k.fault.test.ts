import { test } from 'node:test';
import { exactlyK } from './promises/exactly-k.ts';
import { limitsServed } from './promises/limits-served.ts';
import { assertKept } from './rig/verdict.ts';

test('200 requests at once from three processes, room for exactly k', async (t) => {
  const verdicts = await exactlyK({ rounds: 1 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});

test('200 requests at once through three servers, room for exactly k', async (t) => {
  const verdicts = await limitsServed({ each: 7 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
