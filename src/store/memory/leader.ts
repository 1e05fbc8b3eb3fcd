import type { Clock } from '../../core/ports/clock.ts';
import type { LeaderLease } from '../../core/ports/leader.ts';

/** Leases in this process: for tests, and for running without Redis. */
export function createMemoryLeaderLease({ clock }: { readonly clock: Pick<Clock, 'now'> }): LeaderLease {
  const leases = new Map<string, { readonly holder: string; readonly until: number }>();
  return {
    hold: async (name, holder, ttlMs) => {
      const now = clock.now();
      const lease = leases.get(name);
      if (lease !== undefined && lease.holder !== holder && now < lease.until) return false;
      leases.set(name, { holder, until: now + ttlMs });
      return true;
    },
    release: async (name, holder) => {
      if (leases.get(name)?.holder === holder) leases.delete(name);
    },
  };
}
