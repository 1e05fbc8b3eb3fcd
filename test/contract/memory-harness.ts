import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import { TestClock } from './quota-harness.ts';
import type { Harness } from './quota-harness.ts';

/** One process, so its three clients are one. */
export async function openMemoryHarness(zone = 'UTC'): Promise<Harness> {
  const clock = new TestClock();
  const stores = createMemoryStores({ clock, ledger: { maxEvents: 100_000, keepMs: 86_400_000, zone } });
  return {
    name: 'memory',
    clients: [stores, stores, stores],
    setTime: async (ms) => {
      clock.ms = ms;
    },
    close: () => stores.close(),
  };
}
