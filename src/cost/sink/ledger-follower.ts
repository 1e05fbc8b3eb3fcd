import { type Clock, systemClock } from '../../core/ports/clock.ts';
import type { LedgerReader } from '../../core/ports/quota-store.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { LedgerEntry } from '../ledger-columns.ts';
import { type LedgerSink, type PositionStore, SinkError } from './ledger-sink.ts';
import { bookedAt, isLater } from './stream-id.ts';

/** How a follower stands, for metrics and readiness pages. */
export interface FollowerState {
  /** Age of the oldest booking that is not known to be in the sink, in ms; 0 when it is up to date. */
  readonly lagMs: number;
  /** Entries taken by the sink since the start, repetitions included. */
  readonly delivered: number;
  /** Failures in a row; 0 = the last try went well. */
  readonly failures: number;
  readonly lastError: string | null;
  /** Times that entries may have been dropped from the ledger before they were read. */
  readonly gaps: number;
}

export interface LedgerFollowerOptions {
  readonly reader: LedgerReader;
  readonly sink: LedgerSink;
  readonly positions: PositionStore;
  readonly log: Log;
  readonly clock?: Clock;
  /** Entries for one write of the sink: it likes few large ones. */
  readonly batch?: number;
  /** Pause after everything is delivered. */
  readonly pollMs?: number;
  /** Pauses after failures: doubled from the first to the longest. */
  readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
}

export interface LedgerFollower {
  /** Follows until `close`. */
  start(): void;
  /** Delivers what is there now; gives how many entries. For tests and commands; not beside `start`. */
  pass(): Promise<number>;
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
  const { pollMs = 5000, log } = options;
  const stop = new AbortController();
  const run = new FollowerRun(options, stop.signal);
  let running: Promise<void> | null = null;

  const follow = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await run.pass();
      await pause(pollMs, stop.signal);
    }
  };

  return {
    start: () => {
      running ??= follow().catch((reason: unknown) => {
        if (!stop.signal.aborted) log.error('the ledger is followed no more', { error: asError(reason) });
      });
    },
    pass: () => run.pass(),
    state: () => run.state(),
    close: async () => {
      stop.abort();
      await running;
    },
  };
}

class FollowerRun {
  readonly #options: LedgerFollowerOptions;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #batch: number;
  #prepared = false;
  #positions: Map<string, string> | null = null;
  #waiting: LedgerEntry[] = [];
  /** Where the waiting entries end, by tenant. */
  #reached = new Map<string, string>();
  #delivered = 0;
  #failures = 0;
  #failingSince: number | null = null;
  #lastError: string | null = null;
  #gaps = 0;

  constructor(options: LedgerFollowerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#clock = options.clock ?? systemClock;
    this.#batch = options.batch ?? 5000;
  }

  state(): FollowerState {
    const now = this.#clock.time();
    const waiting = this.#waiting.map(({ id, event }) => bookedAt(id) ?? event.time);
    const oldest = waiting.reduce((least, time) => Math.min(least, time), this.#failingSince ?? now);
    return {
      lagMs: Math.max(0, now - oldest),
      delivered: this.#delivered,
      failures: this.#failures,
      lastError: this.#lastError,
      gaps: this.#gaps,
    };
  }

  async pass(): Promise<number> {
    const { reader, sink, positions } = this.#options;
    const before = this.#delivered;
    if (!this.#prepared) {
      await this.#insist(() => sink.prepare(this.#signal));
      this.#prepared = true;
    }
    this.#positions ??= new Map(await this.#insist(() => positions.load()));
    const tenants = await this.#insist(() => reader.tenants());
    // A page of each in turn: no tenant's backlog keeps the others waiting.
    for (let more = tenants; more.length > 0 && !this.#signal.aborted;) {
      const left: string[] = [];
      for (const tenant of more) if (await this.#page(tenant, more === tenants)) left.push(tenant);
      more = left;
    }
    await this.#deliver();
    return this.#delivered - before;
  }

  /** Takes the next entries of a tenant; false when there are none. */
  async #page(tenant: string, first: boolean): Promise<boolean> {
    const { reader } = this.#options;
    const after = this.#reached.get(tenant) ?? this.#positions?.get(tenant) ?? null;
    const entries = await this.#insist(() => reader.read(tenant, after, this.#batch - this.#waiting.length));
    const last = entries.at(-1);
    if (last === undefined) return false;
    if (first && after !== null) await this.#lookForGap(tenant, after);
    for (const entry of entries) this.#waiting.push(entry);
    this.#reached.set(tenant, last.id);
    if (this.#waiting.length >= this.#batch) await this.#deliver();
    return true;
  }

  /** The ledger keeps a number of entries: when it begins after our position, some may have gone unread. */
  async #lookForGap(tenant: string, after: string): Promise<void> {
    const [oldest] = await this.#insist(() => this.#options.reader.read(tenant, null, 1));
    if (oldest === undefined || !isLater(oldest.id, after)) return;
    this.#gaps += 1;
    this.#options.log.error('entries of the ledger may have been dropped before the sink had them', {
      sink: this.#options.sink.name,
      tenant,
      position: after,
      oldest: oldest.id,
    });
  }

  async #deliver(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const { sink, positions } = this.#options;
    await this.#insist(() => sink.write(this.#waiting, this.#signal));
    await this.#insist(() => positions.save(this.#reached));
    this.#delivered += this.#waiting.length;
    for (const [tenant, id] of this.#reached) this.#positions?.set(tenant, id);
    this.#waiting = [];
    this.#reached = new Map();
  }

  /** Until it works, or the follower is closed. */
  async #insist<T>(step: () => Promise<T>): Promise<T> {
    const { backoff = { firstMs: 500, longestMs: 60_000 }, log, sink } = this.#options;
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        const result = await step();
        this.#failures = 0;
        this.#failingSince = null;
        this.#lastError = null;
        return result;
      } catch (reason) {
        this.#signal.throwIfAborted();
        this.#failures += 1;
        this.#failingSince ??= this.#clock.time();
        this.#lastError = asError(reason).message;
        const passing = !(reason instanceof SinkError) || reason.passing;
        const longest = passing
          ? Math.min(backoff.longestMs, backoff.firstMs * 2 ** (this.#failures - 1))
          : backoff.longestMs;
        // From half to the whole, so that several followers do not knock together.
        const waitMs = Math.round(longest * (0.5 + Math.random() / 2));
        log[passing ? 'warn' : 'error']('the ledger sink is behind', {
          sink: sink.name,
          error: asError(reason),
          failures: this.#failures,
          retry_in_ms: waitMs,
        });
        await pause(waitMs, this.#signal);
      }
    }
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** Ends early, without an error, when the signal fires. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
