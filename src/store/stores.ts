import type { BudgetStateStore } from '../core/ports/budget-state.ts';
import type { DirectoryStore } from '../core/ports/directory-store.ts';
import type { EpochStore } from '../core/ports/epoch-store.ts';
import type { IdempotencyStore } from '../core/ports/idempotency-store.ts';
import type { JobStore } from '../core/ports/job-store.ts';
import type { RolloutFigureStore } from '../core/ports/rollout.ts';
import type { LeaderLease } from '../core/ports/leader.ts';
import type { LiveStore } from '../core/ports/live.ts';
import type { LedgerReader, LedgerTrimmer, QuotaStore } from '../core/ports/quota-store.ts';
import type { RateShareStore } from '../core/ports/rate-shares.ts';
import type { SinkPositionStore } from '../core/ports/sink-positions.ts';
import type { SpendReader } from '../core/ports/spend-reader.ts';
import type { TraceStore } from '../core/ports/trace-store.ts';

/** What survives a restart of the store. `aof-unknown`: an append-only file whose fsync rule may not be read. */
export type Durability = 'aof-always' | 'aof-everysec' | 'aof-no' | 'aof-unknown' | 'none' | 'unknown';

export interface DurabilityReport {
  readonly durability: Durability;
  /** `6.2.14`; empty when the store is no server. */
  readonly version: string;
  /** Sentences for a log or a readiness page. */
  readonly warnings: readonly string[];
}

/** The stores of one process, whatever keeps them. */
export interface Stores {
  /** Its `settle` never waits for a store that is gone: it answers `settled` for what waits in the spool. */
  readonly quota: QuotaStore;
  readonly ledger: LedgerReader & LedgerTrimmer;
  /** How far sinks of the ledger are. */
  readonly positions: SinkPositionStore;
  /** Whether the store still holds what it held. */
  readonly epochs: EpochStore;
  readonly traces: TraceStore;
  readonly directory: DirectoryStore;
  readonly spend: SpendReader;
  /** What budgets have come to. */
  readonly budgets: BudgetStateStore;
  /** Shares of rates; null: there is nobody to share with. */
  readonly rateShares: RateShareStore | null;
  /** What every worker does now. */
  readonly live: LiveStore;
  /** How a configuration fares that is rolled out. */
  readonly rolloutFigures: RolloutFigureStore;
  /** Requests that nobody waits for. */
  readonly jobs: JobStore;
  /** Answers of writes, for their repetitions. */
  readonly idempotency: IdempotencyStore;
  /** Which of all replicas leads. */
  readonly lease: LeaderLease;
  /** Reads how the store keeps what it acknowledged. Throws `StoreUnavailable`. */
  readonly durability: () => Promise<DurabilityReport>;
  readonly state: () => 'up' | 'down';
  /** True once the store is up; false when it is not within `deadlineMs`. */
  readonly ready: (deadlineMs: number) => Promise<boolean>;
  /** Writes what waits in the spool; gives how many settlements are left after `deadlineMs`. */
  readonly flush: (deadlineMs: number) => Promise<number>;
  /** Ends connections and timers. What is left in the spool is logged whole. */
  readonly close: () => Promise<void>;
}
