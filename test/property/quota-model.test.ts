import { after, before, describe, test } from 'node:test';
import { openMemoryHarness } from '../contract/memory-harness.ts';
import type { Harness } from '../contract/quota-harness.ts';
import { openRedisHarness } from '../contract/redis-harness.ts';
import { playLedger } from './play-ledger.ts';

/** A sample; `npm run chaos ledger-model` plays 100,000. */
for (const [name, open, runs] of [
  ['memory', openMemoryHarness, 2500],
  ['redis', openRedisHarness, 200],
] as const) {
  describe(`histories of ${name} agree with the model`, () => {
    let harness: Harness;
    before(async () => {
      harness = await open();
    });
    after(() => harness.close());

    test('reserve, settle, release, renew and expire, repeated, in any order, from four clients (P11)', async (t) => {
      const { calls, answers } = await playLedger(harness, { runs });
      t.diagnostic(`${calls} calls: ${JSON.stringify(answers)}`);
    });
  });
}
