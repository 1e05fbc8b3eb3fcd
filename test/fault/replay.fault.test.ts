import { test } from 'node:test';
import { replaysElsewhere } from './promises/replay.ts';
import { assertKept } from './rig/verdict.ts';

test('requests of a backend that dies are replayed elsewhere', async (t) => {
  // Scaled down: two of a plan die, each costs at most one of these waits and the time to connect.
  const verdicts = await replaysElsewhere({
    timeouts: { request: '30s', idle: '4s', dead_host: '2s' },
    mostMs: 9000,
    each: 3,
    after: { ms: 3000, perSecond: 5 },
  });
  for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
  assertKept(verdicts);
});
