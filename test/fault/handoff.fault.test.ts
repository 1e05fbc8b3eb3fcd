import { test } from 'node:test';
import { attemptsElsewhere } from './promises/handoff.ts';
import { assertKept } from './rig/verdict.ts';

test('tries at the worker that does not have their request', async (t) => {
  const verdicts = await attemptsElsewhere();
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
