import type { Clock } from '../../core/ports/clock.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';

/** A touch is repeated after this long. */
const TOUCH_EVERY_MS = 30_000;
/** A tenant without reservations leaves the sweeper's list when it was not touched for this long. */
const GRACE_MS = 3 * TOUCH_EVERY_MS;
/** Nobody waits longer than this for a look, however long leases are. */
const LOOK_AGAIN_MS = 60_000;
/** A sweeper that dies leaves its tenants to others after this long. */
const CLAIM_MS = 5000;
/** Touches remembered in this process. */
const MEMORY = 50_000;

export interface TenantIndex {
  /**
   * Notes that the tenant will have a lease of this length. Sent without waiting, ahead of the admission on the same
   * connection; the index lies in another slot, so it cannot be part of it. A touch that is lost is made up for by the
   * tenant's next request.
   */
  readonly touch: (tenant: string, leaseMs: number) => void;
  /** Tenants that may have leases to end, for this caller alone for a while. */
  readonly claim: (count: number) => Promise<readonly string[]>;
  /** After a sweep of some tenants: when the next lease of each ends, -1 when none is open. */
  readonly rest: (swept: readonly Swept[]) => Promise<void>;
  /** Sends each tenant's next touch: the store may have lost some. */
  readonly forget: () => void;
}

/** A tenant that the sweeper looked at. */
export interface Swept {
  readonly tenant: string;
  readonly nextLease: number;
}

/** Which tenants have been used and which of them the sweeper must visit. Members are JSON: any text, one to one. */
export function createTenantIndex({
  run,
  keys,
  clock,
  leaseMs,
  keepMs,
}: {
  readonly run: RunScript;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Usual length of a lease. A tenant in use is visited that often: what began after a look does not end before the next. */
  readonly leaseMs: number;
  readonly keepMs: number;
}): TenantIndex {
  const touched = new Map<string, { readonly at: number; readonly leaseMs: number }>();
  const lookAgainMs = Math.min(Math.max(leaseMs, 50), LOOK_AGAIN_MS);

  return {
    touch: (tenant, lease) => {
      const now = clock.now();
      const last = touched.get(tenant);
      if (last !== undefined && now - last.at < TOUCH_EVERY_MS && lease >= last.leaseMs) return;
      if (touched.size >= MEMORY) touched.clear();
      touched.set(tenant, { at: now, leaseMs: lease });
      run('touch', [keys.tenants, keys.due], [JSON.stringify(tenant), lease, keepMs]).catch(() => {
        touched.delete(tenant);
      });
    },
    claim: async (count) => {
      const members = (await run('claim', [keys.due], [count, CLAIM_MS])) as readonly string[];
      return members.map((member) => JSON.parse(member) as string);
    },
    rest: async (swept) => {
      if (swept.length === 0) return;
      const words = swept.flatMap(({ tenant, nextLease }) => [JSON.stringify(tenant), nextLease]);
      await run('rest', [keys.tenants, keys.due], [lookAgainMs, GRACE_MS, ...words]);
    },
    forget: () => touched.clear(),
  };
}
