import { followShares } from '../control/rate-shares/follow-shares.ts';
import type { Clock } from '../core/ports/clock.ts';
import { RATE_SHARE_TIMES, type RateShareStore } from '../core/ports/rate-shares.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Gateway } from './gateway.ts';

export interface FollowLimitsOptions {
  readonly config: () => Snapshot;
  /** What a part of the requests are served by in its place; null: nobody is. */
  readonly trial: () => Snapshot | null;
  readonly gateway: Pick<Gateway, 'limits'>;
  readonly store: RateShareStore | null;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly everyMs?: number;
  /** How long shares are waited for at the most. */
  readonly mostMs?: number;
}

export interface FollowedLimits {
  /** Null once this process may use its rates, or has waited long enough; else what it waits for. For good: it never waits again. */
  readonly waitsFor: () => string | null;
  readonly close: () => Promise<void>;
}

/** A table that begins empty gives nothing for so long; then comes the next round. */
const MOST_MS = RATE_SHARE_TIMES.settleMs + 2000;

/** Keeps the limits in front of backends in step with endpoints, the other workers, and who waits, off the way of requests. */
export function followLimits(options: FollowLimitsOptions): FollowedLimits {
  const { config, trial, gateway, store, holder, clock, everyMs = 500, mostMs = MOST_MS } = options;
  const { rates, tick } = gateway.limits;
  const giveUpAt = clock.now() + mostMs;
  let hasShares = false;
  const shares = followShares({
    wishes: () => {
      const all = rates.wishes(config(), ...[trial()].filter((each) => each !== null));
      if (all.length === 0) hasShares = true;
      return all;
    },
    grant: (all) => {
      rates.grant(all);
      if (all.every((share) => share > 0)) hasShares = true;
    },
    store,
    holder,
  });
  const look = (): void => {
    tick();
    void shares.renew();
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  look();
  return {
    waitsFor() {
      hasShares ||= clock.now() >= giveUpAt;
      return hasShares ? null : 'limits: the shares of the rates are not given yet';
    },
    close: async () => {
      clearInterval(timer);
      await shares.close();
    },
  };
}
