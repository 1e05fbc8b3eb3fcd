import type { Clock } from '../../core/ports/clock.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';

/** A touch is repeated after this long. */
const TOUCH_EVERY_MS = 5000;
/** A tenant without reservations leaves the sweeper's list when it was not touched for this long. */
const GRACE_MS = 3 * TOUCH_EVERY_MS;
/** A sweeper that dies leaves its tenants to others after this long. */
const CLAIM_MS = 5000;
/** Touches remembered in this process. */
const MEMORY = 10_000;

export interface TenantIndex {
  /**
   * Notes that the tenant will have a lease of this length. Sent without waiting, ahead of the admission on the same
   * connection; the index lies in another slot, so it cannot be part of it. A touch that is lost is made up for by the
   * tenant's next request.
   */
  readonly touch: (tenant: string, leaseMs: number) => void;
  /** Tenants that may have leases to end, for this caller alone for a while. */
  readonly claim: (count: number) => Promise<readonly string[]>;
  /** After a sweep: `nextLease` is when the next lease ends, -1 when none is open. */
  readonly rest: (tenant: string, nextLease: number) => Promise<void>;
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
  /** Usual length of a lease; tenants in use are visited twice as often. */
  readonly leaseMs: number;
  readonly keepMs: number;
}): TenantIndex {
  const touched = new Map<string, { readonly at: number; readonly leaseMs: number }>();
  const lookAgainMs = Math.ceil(Math.min(Math.max(leaseMs / 2, 50), GRACE_MS));

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
    rest: async (tenant, nextLease) => {
      await run('rest', [keys.tenants, keys.due], [JSON.stringify(tenant), nextLease, lookAgainMs, GRACE_MS]);
    },
  };
}
