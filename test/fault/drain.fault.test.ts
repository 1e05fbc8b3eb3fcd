import { test } from 'node:test';
import { drainAlone, rollingRestarts } from './promises/drain.ts';
import { assertKept } from './rig/verdict.ts';

test('5 rolling restarts of two servers', async (t) => {
  const verdicts = await rollingRestarts({ restarts: 5 });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});

test('a server alone goes in good order', async (t) => {
  const verdicts = await drainAlone();
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
