import type { RolloutRecord } from './directory.ts';
import type { RolloutStatus } from './rollout.ts';

/** A roll-out as it is written down when it is over. What is not in force is not kept. */
export function endedAs(
  record: RolloutRecord,
  status: Exclude<RolloutStatus, 'running'>,
  reason: string,
): Omit<RolloutRecord, 'version' | 'createdAt' | 'updatedAt'> {
  const { id, rollout, percent, startAt, endAt, base, digest, criteria, by } = record;
  const text = status === 'promoted' ? record.text : '';
  return { id, rollout, percent, startAt, endAt, base, digest, criteria, by, text, status, reason };
}
