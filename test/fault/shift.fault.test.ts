import { test } from 'node:test';
import { shiftsTraffic } from './promises/shift.ts';
import { assertKept } from './rig/verdict.ts';

test('traffic moves away from a backend that fails', async (t) => {
  const verdicts = await shiftsTraffic({
    perSecond: 40,
    wellMs: 3000,
    flapsMs: 10_000,
    restMs: 4000,
    return: null,
  });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
