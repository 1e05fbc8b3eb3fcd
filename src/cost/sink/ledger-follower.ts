import { systemClock } from '../../core/ports/clock.ts';
import { createDelivery } from './delivery.ts';
import type { LedgerFollowerOptions } from './follower-options.ts';
import { createPersistence, pause } from './persistence.ts';
import { toError } from '../../lib/error/to-error.ts';

/** How a follower stands, for metrics and readiness pages. */
export interface FollowerState {
  /** Age of the oldest booking that is not known to be in the sink, in ms; 0 when it is up to date. */
  readonly lagMs: number;
  /** Bookings that the sink does not have, as last measured. */
  readonly lagEvents: number;
  /** Entries taken by the sink since the start, repetitions included. */
  readonly delivered: number;
  /** Failures in a row; 0 = the last try went well. */
  readonly failures: number;
  readonly lastError: string | null;
  /** Unix milliseconds of the last failure; null = there was none. */
  readonly lastErrorAt: number | null;
  /** Entries that the ledger let go of before they were read. */
  readonly cut: number;
}

export interface LedgerFollower {
  /** Follows until `close`. */
  start(): void;
  /** Delivers what is there now; gives how many entries. For tests and commands; not beside `start`. */
  pass(): Promise<number>;
  /** Looks anew at how far behind it is. Throws what the reader throws. */
  measure(): Promise<void>;
  state(): FollowerState;
  /** Stops after the write that is under way, which is given up. Positions stay where the sink is known to be. */
  close(): Promise<void>;
}

/**
 * Carries the ledgers of all tenants into a sink. A position is saved after the sink has taken everything up to it: at least
 * once, and with a sink that knows a booking again, exactly once. Nothing is ever skipped; what cannot be written is tried
 * until it can.
 */
export function createLedgerFollower(options: LedgerFollowerOptions): LedgerFollower {
  const { pollMs = 5000, log, sink, clock = systemClock, random = Math.random } = options;
  const { backoff = { firstMs: 500, longestMs: 60_000 } } = options;
  const stop = new AbortController();
  const { signal } = stop;
  const persistence = createPersistence({ name: sink.name, signal, clock, log, backoff, random });
  const delivery = createDelivery({ ...options, clock, signal, insist: persistence.insist });
  let running: Promise<void> | null = null;

  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await delivery.pass();
      await pause(pollMs, signal);
    }
  };

  return {
    start: () => {
      running ??= follow().catch((reason: unknown) => {
        if (!signal.aborted) log.error('the ledger is followed no more', { error: toError(reason) });
      });
    },
    pass: delivery.pass,
    measure: delivery.measure,
    state: () => {
      const { failures, since, lastError, lastErrorAt } = persistence.trouble();
      const { oldest, lagEvents, delivered, cut } = delivery.figures();
      const now = clock.time();
      const lagMs = Math.max(0, now - Math.min(oldest ?? now, since ?? now));
      return { lagMs, lagEvents, delivered, failures, lastError, lastErrorAt, cut };
    },
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
