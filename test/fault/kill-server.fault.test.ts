import { test } from 'node:test';
import { killServer } from './promises/kill-server.ts';
import { assertKept } from './rig/verdict.ts';

for (const [onCrash, kills] of [
  ['charge', 20],
  ['release', 10],
] as const) {
  test(`${kills} kills of the server under load (on_crash: ${onCrash})`, async (t) => {
    const verdicts = await killServer({ kills, onCrash, worstMs: 4000 });
    for (const { promise, figures } of verdicts) t.diagnostic(`${promise}: ${figures}`);
    assertKept(verdicts);
  });
}
