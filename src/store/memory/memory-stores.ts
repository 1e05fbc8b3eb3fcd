import type { Clock } from '../../core/ports/clock.ts';
import type { Stores } from '../stores.ts';
import { createSpendReader } from '../spend-reader.ts';
import { createMemoryBudgetState } from './budget-state.ts';
import { createMemoryDirectoryStore } from './directory-store.ts';
import { createMemoryEpochStore } from './epoch-store.ts';
import { createMemoryIdempotencyStore } from './idempotency-store.ts';
import { MemoryJobStore } from './job-store.ts';
import { createMemoryLeaderLease } from './leader.ts';
import { createMemoryLiveStore } from './live-store.ts';
import { createMemoryQuotaStore } from './quota-store.ts';
import type { MemoryQuotaStoreOptions } from './quota-store.ts';
import { createMemoryRolloutFigures } from './rollout-figures.ts';
import { createMemorySinkPositions } from './sink-positions.ts';
import { createMemoryTraceStore } from './trace-store.ts';

/** All stores in this process: limits hold for one worker, and everything is gone with it. */
export function createMemoryStores({
  clock,
  ledger,
  onExpired,
}: {
  readonly clock: Clock;
  readonly ledger: MemoryQuotaStoreOptions['ledger'];
  readonly onExpired?: MemoryQuotaStoreOptions['onExpired'];
}): Stores {
  const { quota, ledger: reader, spendSource: source } = createMemoryQuotaStore({ clock, ledger, onExpired });
  return {
    quota,
    // It trims itself.
    ledger: { ...reader, trim: async () => {} },
    epochs: createMemoryEpochStore({ clock }),
    positions: createMemorySinkPositions(),
    directory: createMemoryDirectoryStore({ clock }),
    spend: createSpendReader({ source, clock, zone: ledger.zone }),
    budgets: createMemoryBudgetState({ clock }),
    rateShares: null,
    live: createMemoryLiveStore({ clock }),
    rolloutFigures: createMemoryRolloutFigures(),
    jobs: new MemoryJobStore({ clock }),
    idempotency: createMemoryIdempotencyStore({ clock }),
    lease: createMemoryLeaderLease({ clock }),
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
