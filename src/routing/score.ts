import { costOf, estimate, type Estimate } from './estimate.ts';
import { coldKind } from './lease.ts';
import type { LiveTarget } from './live-target.ts';
import type { ScorePolicy } from '../core/score-policy.ts';
import { NOTHING_WARM } from '../core/warm.ts';
import type { SizedAsk, Target } from './target.ts';
import { unreadOf, type Warmth } from './warm-keys.ts';

/** Requests at once that a target of unknown capacity is taken for good for. */
const USUAL_CAPACITY = 32;
/** What is not known is neither good nor bad. */
const NEUTRAL = 0.5;
/** Keeps a product of factors from ending at 0. */
const OFFSET = 0.001;

/** The parts of a score, each 0..1, 1 is best. */
export interface Terms {
  readonly cost: number;
  readonly latency: number;
  readonly quality: number;
}

/** What is known of a candidate at the moment of a decision. */
export interface Looked {
  readonly target: Target;
  readonly live: LiveTarget;
  readonly estimate: Estimate;
  /** Micro-units. */
  readonly cost: number;
  readonly health: number;
  readonly running: number;
  /** How full it is, in parts of what it can do in its present health; 1 = full. */
  readonly load: number;
  /** Part of the question's keys that are warm there, 0..1; null = that does not count. */
  readonly warm: number | null;
}

/** A candidate with its score. */
export interface Scored extends Looked {
  readonly terms: Terms;
  /** Without load, 0..1 and a little. */
  readonly utility: number;
  /** What decides: utility less load. */
  readonly value: number;
}

/** Another utility than the weighted sum, at least 0; null = the rule failed, and the sum holds for all candidates. */
export type Adjust = (looked: Looked, terms: Terms, utility: number) => number | null;

/** Looks at a target once, for one decision. */
export function look(live: LiveTarget, ask: SizedAsk, now: number, warmth: Warmth | null = null): Looked {
  const { target } = live;
  const health = live.health(now);
  // Not what 429s taught: held against that, a target would never again run enough to show that it has more room.
  const capacity = target.capacity ?? USUAL_CAPACITY * (target.size ?? 1);
  const warm = warmth?.warm(target.group) ?? NOTHING_WARM;
  const running = live.runningFor(warm);
  const matched = warm.keys.length === 0 ? 0 : live.match(warm, now);
  const work = live.isCold(warm, matched) ? { ...ask, kind: coldKind(ask.kind) } : ask;
  return {
    target,
    live,
    estimate: estimate(live, work, now, unreadOf(ask.promptTokens, warm, matched)),
    cost: costOf(live, ask),
    health,
    running,
    load: (running + 1) / (capacity * health),
    warm: warm.keys.length === 0 ? null : matched / warm.keys.length,
  };
}

/** Scores candidates against one another. */
export function score(
  candidates: readonly Looked[],
  policy: ScorePolicy,
  adjust: Adjust | null = null,
): readonly Scored[] {
  const { weights, load } = policy;
  const sum = weights.cost + weights.latency + weights.quality;
  const costTerm = sum === 0 ? () => NEUTRAL : termOf(candidates, (one) => one.cost, policy.costCeiling);
  const latencyTerm =
    sum === 0 ? () => NEUTRAL : termOf(candidates, (one) => one.estimate.totalMs, policy.latencyMs, GUESSED);
  const judged = candidates.map((one) => {
    const terms: Terms = { cost: costTerm(one), latency: latencyTerm(one), quality: one.target.quality };
    const weighted =
      sum === 0
        ? 0
        : (weights.cost * terms.cost + weights.latency * terms.latency + weights.quality * terms.quality) / sum;
    const sumOf = weighted + OFFSET;
    const adjusted = adjust === null ? sumOf : adjust(one, terms, sumOf);
    return { one, terms, sumOf, adjusted };
  });
  // A score of a rule and a sum are not of one scale: where the rule fails for one, the sum holds for all.
  const holds = judged.every(({ adjusted }) => adjusted !== null && Number.isFinite(adjusted));
  return judged.map(({ one, terms, sumOf, adjusted }) => {
    const utility = holds ? Math.max(0, adjusted ?? sumOf) : sumOf;
    return { ...one, terms, utility, value: utility - load * one.load };
  });
}

/** How finely figures can be told apart. */
interface Grain {
  /** Up to this many times the smallest is as good as the smallest. */
  readonly noise: number;
  /** The whole scale is at least this part of the smallest. */
  readonly scale: number;
}

const EXACT: Grain = { noise: 1, scale: 0 };
/** Means of few and scattered samples: between equals, chance must not make a difference of a full point. */
const GUESSED: Grain = { noise: 1.1, scale: 0.25 };

/** A smaller figure is better: on a scale of its own up to `ceiling`, or between the smallest and the largest. */
function termOf(
  candidates: readonly Looked[],
  figure: (one: Looked) => number | null,
  ceiling: number | null,
  { noise, scale }: Grain = EXACT,
): (one: Looked) => number {
  if (ceiling !== null)
    return (one) => {
      const value = figure(one);
      return value === null ? NEUTRAL : Math.min(1, Math.max(0, 1 - value / ceiling));
    };
  let least = Infinity;
  let most = -Infinity;
  for (const one of candidates) {
    const value = figure(one);
    if (value === null) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const heard = (value: number): number => Math.max(least, value / noise);
  // All alike, or as good as: a difference of a thousandth is no reason.
  if (!(heard(most) - least > 1e-3 * most)) return () => NEUTRAL;
  const span = Math.max(heard(most) - least, scale * least);
  // On a scale that is longer than what is seen, all lie around its middle.
  const top = heard(most) + (span - (heard(most) - least)) / 2;
  return (one) => {
    const value = figure(one);
    return value === null ? NEUTRAL : (top - heard(value)) / span;
  };
}
