import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import { StoreRefused } from '../store-refused.ts';
import { Deadlines } from './deadlines.ts';
import { toError } from '../../lib/error/to-error.ts';

export interface StoreBreaker {
  /** Runs `work` under the deadline. Throws `StoreUnavailable`, at once while the store is down. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
  /** `down` until the store has answered for the first time. */
  readonly state: () => 'up' | 'down';
  /** The connection is lost: down without waiting for calls to fail. */
  readonly trip: (reason: string) => void;
  /** Something changed for the better: probe now. */
  readonly hint: () => void;
  /** Resolves when the store is up, or with false after `deadlineMs`. */
  readonly ready: (deadlineMs: number) => Promise<boolean>;
  readonly close: () => void;
}

export interface StoreBreakerOptions {
  /** Resolves when the store works. */
  readonly probe: () => Promise<unknown>;
  /** Called while the store stays silent on a connection that looks open. */
  readonly reconnect: () => void;
  readonly deadlineMs: number;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly metrics: Pick<Metrics, 'storeState'>;
  /** Failures in a row that open it. */
  readonly threshold?: number;
  readonly probeEveryMs?: number;
}

/**
 * Error replies of a store that is there but cannot serve now, alone or from within a script. Others mean a fault in what
 * we sent.
 */
const PASSING =
  /^(?:ERR Error running script [^@]*(?:@user_script: ?\d+: )+-?)?(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|OOM|MISCONF|NOREPLICAS|BUSY|NOAUTH|WRONGPASS|UNBLOCKED|ERR max number of clients)\b/;
const SILENT_PROBES = 4;

/** Keeps callers from waiting for a store that is gone, and finds out in the background when it is back. */
export function createStoreBreaker(options: StoreBreakerOptions): StoreBreaker {
  const { deadlineMs, log, threshold = 5, probeEveryMs = 250 } = options;
  const health = createHealth(options);
  const prober = createProber({ ...options, health });
  const timer = setInterval(prober, probeEveryMs);
  timer.unref();
  setImmediate(prober);
  const deadlines = new Deadlines(deadlineMs);
  let failures = 0;

  /** What a failure means for its caller and for the breaker. */
  function judged(reason: unknown): Error {
    const error = toError(reason);
    if (error.name === 'ReplyError' && !PASSING.test(error.message)) {
      log.error('store refused a command', { error });
      return new StoreRefused(error.message, { cause: error });
    }
    failures += 1;
    if (failures >= threshold) {
      failures = 0;
      health.down(error.message);
    }
    return new StoreUnavailable(error.message, { cause: error });
  }

  /** By callbacks, not by `await`: three calls a request go through here. */
  function call<T>(work: () => Promise<T>): Promise<T> {
    if (health.state() !== 'up') return Promise.reject(new StoreUnavailable('store is down', { sent: false }));
    return new Promise((resolve, reject) => {
      let isOver = false;
      const fail = (reason: unknown): void => {
        if (isOver) return;
        isOver = true;
        deadlines.end(deadline);
        reject(judged(reason));
      };
      const deadline = deadlines.begin(() => fail(new Timeout(`no answer within ${deadlineMs} ms`)));
      try {
        work().then((value) => {
          if (isOver) return;
          isOver = true;
          deadlines.end(deadline);
          failures = 0;
          resolve(value);
        }, fail);
      } catch (reason) {
        fail(reason);
      }
    });
  }

  return {
    call,
    state: () => (health.state() === 'up' ? 'up' : 'down'),
    trip: health.down,
    hint: prober,
    ready: health.ready,
    close: () => {
      clearInterval(timer);
      health.close();
    },
  };
}

interface Health {
  readonly state: () => 'up' | 'down' | 'closed';
  readonly up: () => void;
  readonly down: (reason: string) => void;
  readonly ready: (deadlineMs: number) => Promise<boolean>;
  readonly close: () => void;
}

/** The state itself, with one log line and one report for each change. */
function createHealth({ log, metrics }: Pick<StoreBreakerOptions, 'log' | 'metrics'>): Health {
  let state: 'up' | 'down' | 'closed' = 'down';
  const waiting = new Set<(up: boolean) => void>();
  metrics.storeState('down');
  const tell = (up: boolean): void => {
    for (const end of waiting) end(up);
  };
  return {
    state: () => state,
    up: () => {
      if (state !== 'down') return;
      state = 'up';
      metrics.storeState('up');
      log.info('store is up');
      tell(true);
    },
    down: (reason) => {
      if (state !== 'up') return;
      state = 'down';
      metrics.storeState('down');
      log.warn('store is down', { reason });
    },
    ready: async (deadlineMs) => {
      if (state !== 'down') return state === 'up';
      return new Promise((resolve) => {
        const end = (up: boolean): void => {
          clearTimeout(patience);
          waiting.delete(end);
          resolve(up);
        };
        const patience = setTimeout(end, deadlineMs, false);
        waiting.add(end);
      });
    },
    close: () => {
      state = 'closed';
      tell(false);
    },
  };
}

/** One try after another while the store is down. */
function createProber({
  probe,
  reconnect,
  deadlineMs,
  health,
}: Pick<StoreBreakerOptions, 'probe' | 'reconnect' | 'deadlineMs'> & { readonly health: Health }): () => void {
  let silent = 0;
  let probing = false;
  const tryOnce = async (): Promise<void> => {
    probing = true;
    try {
      await within(probe(), deadlineMs);
      silent = 0;
      health.up();
    } catch (error) {
      silent = error instanceof Timeout ? silent + 1 : 0;
      if (silent >= SILENT_PROBES) {
        silent = 0;
        reconnect();
      }
    } finally {
      probing = false;
    }
  };
  return () => {
    if (health.state() === 'down' && !probing) void tryOnce();
  };
}

class Timeout extends Error {}

/** Rejects with `Timeout` when `promise` is late; what it does afterwards is nobody's concern. */
function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // One more turn of the loop before giving up: after a blocked loop the answer may lie in the socket already.
    const timer = setTimeout(() => setImmediate(() => reject(new Timeout(`no answer within ${ms} ms`))), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (reason: unknown) => {
        clearTimeout(timer);
        reject(reason);
      },
    );
  });
}
