import type { ServerStatus } from '../admin/admin-deps.ts';
import { currenciesOf } from '../control/budgets/measure-budgets.ts';
import type { AuditLog } from '../core/ports/audit.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { version } from './version.ts';

/** What serves here. */
export function serverStatus(
  config: Snapshot,
  audit: Pick<AuditLog, 'state'>,
  sink: ServerStatus['sink'],
): ServerStatus {
  const [currency, ...others] = currenciesOf(config);
  return {
    version: version(),
    zone: config.ledger.zone,
    currency: currency === undefined || others.length > 0 ? null : currency,
    generation: config.generation,
    audit: config.audit === null ? null : audit.state(),
    sink,
  };
}
