import type { Judged } from '../../core/decision.ts';
import { LEAST_LOADED } from '../../core/score-policy.ts';
import type { Board } from '../../routing/board.ts';
import type { Scored } from '../../routing/score.ts';
import type { Barred, Group } from './group.ts';
import { healthOf, runningOf } from './whole-deployment.ts';

/** One that was looked at, as records and explanations show it. @param place - 1 = first; null = left out. */
export function judgedAs(scored: Scored, place: number | null, reason: Judged['reason'], { policy }: Group): Judged {
  const { target, terms, utility, value, health, running, load, warm, estimate, cost } = scored;
  // By load alone nothing is scored.
  const isScored = policy !== null && policy !== LEAST_LOADED;
  return {
    deployment: target.id,
    place,
    reason,
    terms: isScored ? { cost: round(terms.cost), latency: round(terms.latency), quality: round(terms.quality) } : null,
    utility: isScored ? round(utility) : null,
    value: isScored ? round(value) : null,
    health: round(health),
    running,
    load: round(load),
    warm: warm === null ? null : round(warm),
    estimateMs: estimate.totalMs === null ? null : Math.round(estimate.totalMs),
    estimateCost: Math.round(cost),
    weight: target.weight,
  };
}

/** One that may not serve at all: nothing was reckoned for it. @param now - Monotonic milliseconds. */
export function barredAs({ candidate: { deployment, weight }, why }: Barred, board: Board, now: number): Judged {
  const running = runningOf(deployment, board);
  return {
    deployment: deployment.id,
    place: null,
    reason: why,
    terms: null,
    utility: null,
    value: null,
    health: round(healthOf(deployment, board, now)),
    running,
    load: deployment.concurrency === null ? 0 : round(running / deployment.concurrency.limit),
    warm: null,
    estimateMs: null,
    estimateCost: 0,
    weight,
  };
}

const round = (value: number): number => Math.round(value * 1000) / 1000;
