import type { Json } from '../core/json.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import type { QuotaStore } from '../core/ports/quota-store.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { StoreRefused } from './store-refused.ts';
import { toError } from '../lib/error/to-error.ts';

type Settlement = Parameters<QuotaStore['settle']>[0];

interface Waiting {
  readonly settlement: Settlement;
  readonly bytes: number;
  tries: number;
}

export interface SettlementSpool {
  /** The store with a `settle` that never throws `StoreUnavailable`: `settled` also means "accepted, will be written". */
  readonly quota: QuotaStore;
  /** Settlements that wait for the store. */
  readonly size: () => number;
  /** Writes what waits, and gives how many are left when it is empty or `deadlineMs` is over. */
  readonly flush: (deadlineMs: number) => Promise<number>;
  /** Stops retrying and logs what is left. */
  readonly close: () => void;
}

export interface SettlementSpoolOptions {
  readonly quota: QuotaStore;
  readonly log: Pick<Log, 'error'>;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly maxBytes?: number;
  readonly retryMs?: number;
}

/** Tries that a settlement gets which the store refuses while it takes others. */
const REFUSED_TRIES = 3;

/**
 * Keeps settlements while the store is gone and writes them in order when it is back. A settlement whose first call had an
 * unknown outcome is simply sent again: the store knows its operation. What does not fit is logged whole, so that it can be
 * booked by hand, and counted (`settlement_lost`).
 */
export function createSettlementSpool(options: SettlementSpoolOptions): SettlementSpool {
  const { quota, metrics, maxBytes = 8 * 1024 * 1024, retryMs = 250 } = options;
  const lose = loserOf(options);
  const queue: Waiting[] = [];
  let bytes = 0;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let draining: Promise<void> | null = null;

  function keep(settlement: Settlement): void {
    const size = Buffer.byteLength(JSON.stringify(settlement));
    if (closed || bytes + size > maxBytes) {
      lose(settlement, closed ? 'closed' : 'spool is full');
      return;
    }
    queue.push({ settlement, bytes: size, tries: 0 });
    bytes += size;
    metrics.anomaly('settlement_spooled');
    schedule();
  }

  function schedule(): void {
    if (timer !== null || closed || queue.length === 0) return;
    timer = setTimeout(() => {
      timer = null;
      void drain().then(schedule);
    }, retryMs);
    timer.unref();
  }

  /** Sends from the head until the queue is empty or the store is gone again. One at a time, however often called. */
  function drain(): Promise<void> {
    draining ??= sendAll().finally(() => {
      draining = null;
    });
    return draining;
  }

  async function sendAll(): Promise<void> {
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      const verdict = await send(quota, head);
      // Closed meanwhile: the queue was emptied, and what was in it is accounted for.
      if (verdict === 'later' || queue[0] !== head) return;
      if (verdict !== 'sent') lose(head.settlement, 'refused', verdict);
      queue.shift();
      bytes -= head.bytes;
    }
  }

  async function settle(settlement: Settlement): Promise<'settled' | 'repeated' | 'late'> {
    if (queue.length === 0) {
      try {
        return await quota.settle(settlement);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
    keep(settlement);
    return 'settled';
  }

  return {
    quota: { ...quota, settle },
    size: () => queue.length,
    flush: async (deadlineMs) => {
      const end = performance.now() + deadlineMs;
      for (let left = deadlineMs; queue.length > 0 && left > 0; left = end - performance.now()) {
        await Promise.race([drain(), sleep(left, false)]);
        if (queue.length > 0) await sleep(Math.min(50, left));
      }
      return queue.length;
    },
    close: () => {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      for (const { settlement } of queue.splice(0)) lose(settlement, 'closed');
      bytes = 0;
    },
  };
}

/** `later`: the store is away. An error: the store is there and will not have it. */
async function send(quota: QuotaStore, head: Waiting): Promise<'sent' | 'later' | Error> {
  try {
    await quota.settle(head.settlement);
    return 'sent';
  } catch (reason) {
    const error = toError(reason);
    if (error instanceof StoreUnavailable && !(error instanceof StoreRefused)) return 'later';
    head.tries += 1;
    return head.tries < REFUSED_TRIES ? 'later' : error;
  }
}

function loserOf({ log, metrics }: SettlementSpoolOptions) {
  return (settlement: Settlement, why: string, error?: Error): void => {
    metrics.anomaly('settlement_lost');
    // A settlement holds nothing but JSON.
    log.error('settlement lost', { why, error, settlement: settlement as unknown as Json });
  };
}

/** `hold`: keeps the process alive meanwhile. */
function sleep(ms: number, hold = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (!hold) timer.unref();
  });
}
