import type { ExpiredLease } from '../../src/core/ports/quota-store.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import { TestClock } from './quota-harness.ts';
import type { Harness } from './quota-harness.ts';

/** One process, so its four clients are one. */
export async function openMemoryHarness(zone = 'UTC'): Promise<Harness> {
  const clock = new TestClock();
  const expired: ExpiredLease[] = [];
  const ledger = { maxEvents: 100_000, keepMs: 86_400_000, zone };
  const stores = createMemoryStores({ clock, ledger, onExpired: (lease) => void expired.push(lease) });
  return {
    name: 'memory',
    clients: [stores, stores, stores, stores],
    expired,
    setTime: async (ms) => {
      clock.ms = ms;
    },
    close: () => stores.close(),
  };
}
