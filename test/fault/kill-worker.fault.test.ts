import { test } from 'node:test';
import { killWorker } from './promises/kill-worker.ts';
import { assertKept } from './rig/verdict.ts';

test('4 kills of one of two workers', async (t) => {
  const verdicts = await killWorker({ kills: 4, worstMs: 10_000 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
