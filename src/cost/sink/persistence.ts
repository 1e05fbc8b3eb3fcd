import type { Clock } from '../../core/ports/clock.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import { SinkError } from './ledger-sink.ts';
import { toError } from '../../lib/error/to-error.ts';

export interface PersistenceOptions {
  /** Whose trouble it is, for the log. */
  readonly name: string;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'time'>;
  readonly log: Log;
  /** Pauses after failures: doubled from the first to the longest. */
  readonly backoff: { readonly firstMs: number; readonly longestMs: number };
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

export interface Trouble {
  /** Failures in a row; 0 = the last try went well. */
  readonly failures: number;
  /** Unix milliseconds; null = it is well. */
  readonly since: number | null;
  readonly lastError: string | null;
  /** Unix milliseconds of the last failure since the start; null = there was none. */
  readonly lastErrorAt: number | null;
}

/** Does things until they work. Tells the log once when trouble begins, changes its kind and ends. */
export interface Persistence {
  /** Rejects only when the signal has fired. */
  readonly insist: <T>(step: () => Promise<T>) => Promise<T>;
  readonly trouble: () => Trouble;
}

const NONE: Trouble = { failures: 0, since: null, lastError: null, lastErrorAt: null };

export function createPersistence(options: PersistenceOptions): Persistence {
  const { name, signal, clock, log, backoff, random } = options;
  let trouble = NONE;
  let told: 'passing' | 'lasting' | null = null;

  function recover(): void {
    if (trouble.failures === 0) return;
    if (told !== null) log.info('the ledger sink is well again', { sink: name, failures: trouble.failures });
    told = null;
    trouble = { ...NONE, lastErrorAt: trouble.lastErrorAt };
  }

  function fail(reason: unknown): number {
    const error = toError(reason);
    const now = clock.time();
    const kind = !(reason instanceof SinkError) || reason.passing ? 'passing' : 'lasting';
    const failures = trouble.failures + 1;
    trouble = { failures, since: trouble.since ?? now, lastError: error.message, lastErrorAt: now };
    const longest =
      kind === 'passing' ? Math.min(backoff.longestMs, backoff.firstMs * 2 ** (failures - 1)) : backoff.longestMs;
    // From half to the whole, so that several followers do not knock together.
    const waitMs = Math.round(longest * (0.5 + random() / 2));
    const level = told === kind ? 'debug' : kind === 'passing' ? 'warn' : 'error';
    told = kind;
    log[level]('the ledger sink is behind', { sink: name, error, failures, retry_in_ms: waitMs });
    return waitMs;
  }

  return {
    trouble: () => trouble,
    async insist(step) {
      for (;;) {
        signal.throwIfAborted();
        try {
          const result = await step();
          recover();
          return result;
        } catch (reason) {
          signal.throwIfAborted();
          await pause(fail(reason), signal);
        }
      }
    },
  };
}

/** Ends early, without an error, when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
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
