import type { Clock } from '../../core/ports/clock.ts';
import type { Stores } from '../stores.ts';
import { createMemoryQuotaStore } from './quota-store.ts';
import type { MemoryQuotaStoreOptions } from './quota-store.ts';
import { createMemoryTraceStore } from './trace-store.ts';

/** All stores in this process: limits hold for one worker, and everything is gone with it. */
export function createMemoryStores({
  clock,
  ledger,
}: {
  readonly clock: Clock;
  readonly ledger: MemoryQuotaStoreOptions['ledger'];
}): Stores {
  return {
    ...createMemoryQuotaStore({ clock, ledger }),
    traces: createMemoryTraceStore({ clock }),
    durability: async () => ({
      durability: 'none',
      version: '',
      warnings: ['no Redis is configured: limits hold for one process each, and the ledger is lost with it'],
    }),
    state: () => 'up',
    ready: async () => true,
    flush: async () => 0,
    close: async () => {},
  };
}
