import type { Spread } from '../../core/score-policy.ts';
import type { RouteScore } from '../../core/score-policy.ts';
import type { ConfigDocument } from '../schema/document.ts';

type RouteEntry = ConfigDocument['routes'][number];

const MICRO = 1_000_000;
const DEFAULTS: NonNullable<RouteEntry['score']> = {
  load: 0.2,
  spread: 'near',
  near: 0.02,
  temperature: 0.1,
  rules: [],
};

/** How a route with `weights` weighs its candidates; null for one without. */
export function compileScore({ weights, score }: RouteEntry): RouteScore | null {
  if (weights === undefined) return null;
  const rule = score ?? DEFAULTS;
  return {
    weights,
    load: rule.load,
    costCeiling: rule.cost_ceiling === undefined ? null : rule.cost_ceiling * MICRO,
    latencyMs: rule.latency ?? null,
    spread: spreadOf(rule),
    expression: rule.expression ?? null,
    rules: rule.rules,
  };
}

/** Likewise for the classes that it weighs otherwise. */
export function compileScoreFor(route: RouteEntry): ReadonlyMap<string, RouteScore> {
  const score = compileScore(route);
  if (score === null) return new Map();
  return new Map(Object.entries(route.weights_for).map(([name, weights]) => [name, { ...score, weights }]));
}

function spreadOf({ spread, near, temperature }: NonNullable<RouteEntry['score']>): Spread {
  switch (spread) {
    case 'near':
      return { kind: 'near', near };
    case 'two_choices':
      return { kind: 'two_choices' };
    case 'softmax':
      return { kind: 'softmax', temperature };
    default:
      return spread satisfies never;
  }
}
