import { test } from 'node:test';
import { keepsDeadlines } from './promises/deadlines.ts';
import { assertKept } from './rig/verdict.ts';

test('silent peers cost no more than their deadlines', async (t) => {
  // 50 ms on a quiet machine.
  const verdicts = await keepsDeadlines({ slackMs: 300 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
