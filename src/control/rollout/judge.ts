import type { ArmFigures, RolloutCriteria, RolloutFigures } from '../../core/rollout.ts';
import { addSparse, BUCKETS, quantileOf, valueOf } from '../../lib/histogram/log-histogram.ts';
import { leastDifference, wilson } from '../../lib/statistics/wilson.ts';

/** `worse`: beyond what chance explains. `fine`: enough was seen, and it is good enough. */
export interface Verdict {
  readonly kind: 'worse' | 'fine' | 'unclear';
  readonly words: string;
}

/** It is looked at each second, for hours: so many standard deviations are no chance. */
const Z = 3.5;
/** With fewer, even of the worst, nothing is said. */
const LEAST = 10;
const LATE_SHARE = 0.05;
/** What the histogram may be off by. */
const SLACK = 1.04;

/** Holds the new configuration against the old one, both at the same time. */
export function judge({ old, new: next }: RolloutFigures, criteria: RolloutCriteria): Verdict {
  const bad = errorsOf(old, next, criteria) ?? latenessOf(old, next, criteria);
  if (bad !== null) return { kind: 'worse', words: bad };
  const { minSamples, errorIncrease, p95Ratio } = criteria;
  if (next.requests < minSamples || old.requests < minSamples)
    return {
      kind: 'unclear',
      words: `too few requests: ${next.requests} of the new configuration, ${old.requests} of the old, ${minSamples} of each are needed`,
    };
  if (shareOf(next) - shareOf(old) > errorIncrease)
    return { kind: 'unclear', words: `perhaps more errors: ${percent(next)} instead of ${percent(old)}` };
  const [before, after] = [p95Of(old), p95Of(next)];
  if (before !== null && after !== null && after > before * p95Ratio * SLACK)
    return { kind: 'unclear', words: `perhaps slower: P95 ${ms(after)} instead of ${ms(before)}` };
  return {
    kind: 'fine',
    words: `errors ${percent(next)} instead of ${percent(old)}, P95 ${after === null ? 'not known' : ms(after)} instead of ${before === null ? 'not known' : ms(before)}`,
  };
}

/** More errors than allowed, for certain; null = not so. */
function errorsOf(old: ArmFigures, next: ArmFigures, { errorIncrease }: RolloutCriteria): string | null {
  if (next.requests < LEAST || old.requests < LEAST) return null;
  const least = leastDifference([next.errors, next.requests], [old.errors, old.requests], Z);
  if (least <= errorIncrease) return null;
  return `more errors: ${percent(next)} of ${next.requests} instead of ${percent(old)} of ${old.requests}`;
}

/**
 * Slower than allowed, for certain: more than 5 % of the new times are beyond what the old 95th percentile can be at the most, times
 * the ratio. No shape of the times is assumed. Null = not so.
 */
function latenessOf(old: ArmFigures, next: ArmFigures, { p95Ratio }: RolloutCriteria): string | null {
  const before = countsOf(old);
  const after = countsOf(next);
  const [seen, total] = [sumOf(before), sumOf(after)];
  if (seen < LEAST || total < LEAST) return null;
  const rank = 0.95 + Z * Math.sqrt((0.95 * 0.05) / seen);
  const bound = quantileOf(before, Math.min(1, rank));
  // Too few to know the old one's tail: its slowest may not be slow at all.
  if (bound === null || rank > 1) return null;
  let late = 0;
  after.forEach((count, bucket) => {
    if (valueOf(bucket) > bound * p95Ratio * SLACK) late += count;
  });
  if (wilson(late, total, Z).low <= LATE_SHARE) return null;
  return `slower: P95 ${ms(quantileOf(after, 0.95) ?? 0)} instead of ${ms(quantileOf(before, 0.95) ?? 0)}`;
}

/** 95th percentile of the times, milliseconds; null = none was seen. */
export function p95Of(figures: ArmFigures): number | null {
  return quantileOf(countsOf(figures), 0.95);
}

function countsOf({ times }: ArmFigures): Float64Array {
  const counts = new Float64Array(BUCKETS);
  addSparse(counts, times);
  return counts;
}

const sumOf = (counts: Float64Array): number => counts.reduce((sum, count) => sum + count, 0);
const shareOf = ({ errors, requests }: ArmFigures): number => (requests === 0 ? 0 : errors / requests);
const percent = (figures: ArmFigures): string => `${Math.round(shareOf(figures) * 10_000) / 100} %`;
const ms = (value: number): string => `${Math.round(value)} ms`;
