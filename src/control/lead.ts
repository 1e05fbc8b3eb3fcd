import type { Clock } from '../core/ports/clock.ts';
import type { LeaderLease } from '../core/ports/leader.ts';
import type { Log } from '../core/ports/telemetry.ts';

export interface LeadOptions {
  readonly lease: LeaderLease;
  /** What is led, and who this process is: unique among all. */
  readonly name: string;
  readonly holder: string;
  /** Done by the leader once a round; what it throws is logged, and the next round comes all the same. */
  readonly work: () => Promise<void>;
  /** Done when the lead is lost or handed over: what `work` left running ends here. */
  readonly onLost?: () => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** A leader that is gone is replaced after `ttlMs` and a round at most. */
  readonly ttlMs?: number;
  readonly roundMs?: number;
}

/** One candidate for the lead. */
export interface Leader {
  readonly leading: () => boolean;
  /** The lease could not be asked for: nobody knows who leads. */
  readonly unsure: () => boolean;
  /** A round now: something changed. */
  readonly wake: () => void;
  /** Ends the rounds and hands over. */
  readonly close: () => Promise<void>;
}

/** Takes part in the election of one leader among all replicas, and works while it is the one. */
export function lead(options: LeadOptions): Leader {
  const { lease, name, holder, work, onLost, clock, log, ttlMs = 2000, roundMs = 500 } = options;
  let leading = false;
  let unsure = false;
  let closed = false;
  let again = false;
  let round: Promise<void> | null = null;

  async function become(now: boolean): Promise<void> {
    if (now === leading) return;
    log.info(now ? 'took the lead' : 'lost the lead', { of: name });
    leading = now;
    if (!now) await onLost?.();
  }

  async function once(): Promise<void> {
    const asked = clock.now();
    try {
      // An answer that took as long as the lease lasts is worth nothing.
      await become((await lease.hold(name, holder, ttlMs)) && clock.now() - asked < ttlMs);
      unsure = false;
    } catch (error) {
      log.debug('the lead could not be asked for', { of: name, error: error instanceof Error ? error : undefined });
      unsure = true;
      await become(false);
    }
    if (!leading || closed) return;
    try {
      await work();
    } catch (error) {
      log.warn('a round of the leader failed', { of: name, error: error instanceof Error ? error : undefined });
    }
  }

  function wake(): void {
    if (closed) return;
    if (round !== null) {
      again = true;
      return;
    }
    round = once().finally(() => {
      round = null;
      if (!again) return;
      again = false;
      wake();
    });
  }

  const timer = setInterval(() => {
    // A slow round is not followed by another one at once: that is for changes.
    if (round === null) wake();
  }, roundMs);
  timer.unref();
  wake();

  return {
    leading: () => leading,
    unsure: () => unsure,
    wake,
    close: async () => {
      closed = true;
      again = false;
      clearInterval(timer);
      await round;
      const was = leading;
      leading = false;
      if (was) await onLost?.();
      if (was) await lease.release(name, holder).catch(() => {});
    },
  };
}
