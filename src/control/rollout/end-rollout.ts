import type { RolloutRecord } from '../../core/directory.ts';
import { endedAs } from '../../core/ended-rollout.ts';
import type { AuditLog } from '../../core/ports/audit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { DirectoryStore } from '../../core/ports/directory-store.ts';
import type { RolloutMetrics } from '../../core/ports/rollout.ts';
import type { Log } from '../../core/ports/telemetry.ts';

export interface EndRolloutOptions {
  readonly store: Pick<DirectoryStore, 'put'>;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly metrics: Pick<RolloutMetrics, 'turned'>;
  readonly clock: Pick<Clock, 'time'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Ends a roll-out of our own accord: of all replicas the first that says so, which is in its audit. False: another one was quicker. */
export async function endRollout(
  record: RolloutRecord,
  status: 'promoted' | 'rolled_back',
  reason: string,
  { store, audit, metrics, clock, log }: EndRolloutOptions,
): Promise<boolean> {
  const { kind } = await store.put('rollout', 'current', endedAs(record, status, reason), record.version);
  if (kind !== 'written') return false;
  const facts = { action: `rollout.${status}`, rollout: record.rollout, digest: record.digest, reason };
  audit.append({ kind: 'system', time: clock.time(), facts });
  metrics.turned(status);
  if (status === 'promoted') log.info('a configuration was promoted', facts);
  else log.warn('a configuration was rolled back', facts);
  return true;
}
