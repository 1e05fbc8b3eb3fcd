import type { AuditLog } from '../core/ports/audit.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { OnExpired } from '../core/ports/quota-store.ts';

/** Puts each reservation that ran out on record: the process that should have told of its request is gone. */
export function auditExpiry(audit: Pick<AuditLog, 'append'>, clock: Pick<Clock, 'time'>): OnExpired {
  return ({ tenant, operation, rule }) =>
    audit.append({ kind: 'system', time: clock.time(), facts: { event: 'lease_expired', tenant, operation, rule } });
}
