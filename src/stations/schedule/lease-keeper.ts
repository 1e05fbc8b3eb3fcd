import type { OperationId } from '../../core/ids.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';

interface Lease {
  readonly operation: OperationId;
  readonly tenant: string;
  readonly leaseMs: number;
  renewing: boolean;
}

/** Gives signs of life for operations. `id` names who keeps one, for two may keep the same, until it lets go. */
export interface LeaseKeeper {
  keep(id: string, operation: OperationId, tenant: string, leaseMs: number): void;
  letGo(id: string): void;
  readonly size: number;
}

/**
 * Renews all leases on one timer, each at least every third of its length. A renewal that fails is tried again on the next
 * tick, before the lease ends; one that the store does not know any more is counted as `lease_lost`.
 */
export function createLeaseKeeper({
  store,
  metrics,
  log,
}: {
  readonly store: Pick<QuotaStore, 'renew'>;
  readonly metrics: Metrics;
  readonly log: Log;
}): LeaseKeeper {
  const leases = new Map<string, Lease>();
  let timer: NodeJS.Timeout | null = null;
  let period = Infinity;

  async function renew(id: string, lease: Lease): Promise<void> {
    const { operation } = lease;
    lease.renewing = true;
    try {
      const held = await store.renew(lease.tenant, operation, lease.leaseMs);
      if (held || !leases.delete(id)) return;
      metrics.anomaly('lease_lost');
      log.warn('a reservation ended while its request runs', { operation });
    } catch (error) {
      log.debug('a lease could not be renewed', {
        operation,
        reason: error instanceof Error ? error.message : 'unknown',
      });
    } finally {
      lease.renewing = false;
    }
  }

  function tick(): void {
    for (const [id, lease] of leases) if (!lease.renewing) void renew(id, lease);
    if (leases.size === 0) stop();
  }

  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
    period = Infinity;
  }

  return {
    keep(id, operation, tenant, leaseMs) {
      leases.set(id, { operation, tenant, leaseMs, renewing: false });
      const third = Math.max(1, Math.floor(leaseMs / 3));
      if (third >= period) return;
      stop();
      period = third;
      timer = setInterval(tick, period);
      timer.unref();
    },
    letGo(id) {
      leases.delete(id);
    },
    get size() {
      return leases.size;
    },
  };
}
