import { test } from 'node:test';
import { sharesBreakers } from './promises/shared-breakers.ts';
import { assertKept } from './rig/verdict.ts';

test('replicas know of open breakers', async (t) => {
  const verdicts = await sharesBreakers();
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
