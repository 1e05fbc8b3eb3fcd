import { test } from 'node:test';
import { freezeWorker } from './promises/freeze-worker.ts';
import { assertKept } from './rig/verdict.ts';

test('one of two workers stands still', async (t) => {
  const verdicts = await freezeWorker();
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
