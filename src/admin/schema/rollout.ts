import { z } from 'zod';
import type { RolloutRecord } from '../../core/directory.ts';
import { ROLLOUT_STATUSES, type RolloutPart } from '../../core/rollout.ts';
import type { RolloutStanding, ShownArm } from '../admin-deps.ts';
import { showTime, shownTime } from './scalar.ts';

/** Characters of a configuration. */
const MOST_TEXT = 2 * 1024 * 1024;
const WEEK_S = 7 * 24 * 3600;

export const rolloutCreate = z
  .strictObject({
    config: z
      .string()
      .min(1, 'must not be empty')
      .max(MOST_TEXT)
      .describe('The text of a `tokenlat.yaml`. It is kept in the store as it is: write secrets as references.'),
    percent: z.number().gt(0).max(50).describe('Of the subjects that it serves first: always the same ones.'),
    for_seconds: z.int().min(5).max(WEEK_S).describe('After so long it serves all, if it is as good.'),
    max_error_increase: z
      .number()
      .min(0)
      .max(100)
      .default(0.5)
      .describe('By how many points the percentage of requests that fail may be greater.'),
    max_p95_ratio: z
      .number()
      .min(1)
      .max(100)
      .default(1.2)
      .describe('By what the 95th percentile of the times may be multiplied.'),
    min_samples: z
      .int()
      .min(10)
      .max(1_000_000)
      .default(100)
      .describe('Requests of each configuration without which it does not serve all.'),
    dry_run: z.boolean().default(false).describe('Only say what would be done.'),
  })
  .meta({ id: 'RolloutCreate' });

const arm = z.object({
  requests: z.int(),
  errors: z.int(),
  p95_ms: z.number().nullable().describe('To the first token of streams, else to the end; null: none was answered.'),
});

const part = z.object({
  part: z.string(),
  how: z
    .enum(['percent', 'promotion', 'restart'])
    .describe(
      '`percent`: tried on a part of the requests; `promotion`: in force when it serves all; `restart`: not to be rolled out.',
    ),
});

export const rolloutView = z
  .object({
    object: z.literal('rollout'),
    id: z.string().nullable().describe('null: only looked at.'),
    status: z.enum([...ROLLOUT_STATUSES, 'dry_run']),
    reason: z.string().nullable().describe('Why it is over.'),
    percent: z.number(),
    started_at: shownTime(),
    ends_at: shownTime().describe('When it serves all, if it is as good and enough was seen.'),
    by: z.string(),
    digest: z.string().describe('SHA-256 of its text.'),
    base: z.string().describe('SHA-256 of the file that it replaces; servers with another file take no part.'),
    parts: z.array(part).nullable().describe('What differs; null where that is no longer known.'),
    old: arm.nullable(),
    new: arm.nullable(),
    verdict: z
      .object({ kind: z.enum(['worse', 'fine', 'unclear']), words: z.string() })
      .nullable()
      .describe('By all that was seen so far, of all replicas.'),
    version: z.int(),
  })
  .meta({ id: 'Rollout' });

type Shown = Omit<RolloutRecord, 'version' | 'createdAt' | 'updatedAt'> & { readonly version?: number };

/** A roll-out as it stands. `standing` null: nothing was begun, or nothing seen yet. */
export function showRollout(
  record: Shown,
  {
    parts,
    standing,
    isDryRun = false,
  }: {
    readonly parts: readonly RolloutPart[] | null;
    readonly standing: RolloutStanding | null;
    readonly isDryRun?: boolean;
  },
): unknown {
  return {
    object: 'rollout',
    id: isDryRun ? null : record.rollout,
    status: isDryRun ? 'dry_run' : record.status,
    reason: record.reason,
    percent: record.percent,
    started_at: showTime(record.startAt),
    ends_at: showTime(record.endAt),
    by: record.by,
    digest: record.digest,
    base: record.base,
    parts,
    old: standing === null ? null : showArm(standing.old),
    new: standing === null ? null : showArm(standing.new),
    verdict: standing?.verdict ?? null,
    version: record.version ?? 0,
  };
}

function showArm({ requests, errors, p95Ms }: ShownArm) {
  return { requests, errors, p95_ms: p95Ms === null ? null : Math.round(p95Ms * 10) / 10 };
}
