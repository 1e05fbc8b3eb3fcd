import { followShares } from '../control/rate-shares/follow-shares.ts';
import type { RateShareStore } from '../core/ports/rate-shares.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Gateway } from './gateway.ts';

export interface FollowLimitsOptions {
  readonly config: () => Snapshot;
  readonly gateway: Pick<Gateway, 'limits'>;
  readonly store: RateShareStore | null;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly everyMs?: number;
}

/** Keeps the limits in front of backends in step with endpoints, the other workers, and who waits, off the way of requests. */
export function followLimits({ config, gateway, store, holder, everyMs = 500 }: FollowLimitsOptions): {
  readonly close: () => Promise<void>;
} {
  const { rates, tick } = gateway.limits;
  const shares = followShares({
    wishes: () => rates.wishes(config()),
    grant: (all) => rates.grant(all),
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
    close: async () => {
      clearInterval(timer);
      await shares.close();
    },
  };
}
