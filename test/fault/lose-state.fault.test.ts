import { test } from 'node:test';
import { losesState } from './promises/lose-state.ts';
import { assertKept } from './rig/verdict.ts';

test('Redis is emptied under a gateway', { timeout: 120_000 }, async (t) => {
  const verdicts = await losesState({ seconds: 3, againMs: 5000 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
