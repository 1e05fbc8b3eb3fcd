import type { Candidate } from '../../core/decision.ts';
import type { Deployment, Model, Route, RouteCandidate } from '../../core/snapshot.ts';
import { deploymentsOf, namedModel } from './eligible.ts';
import type { Asked, RoutingConfig, Supports } from './eligible.ts';
import { weightedOrder } from './weighted-order.ts';

export interface RankOptions {
  readonly config: RoutingConfig;
  readonly route: Route;
  readonly asked: Asked;
  /** 0..1 of the requests go to canaries; null: by their weights. */
  readonly canaryShare: number | null;
  readonly supports: Supports;
  readonly random: () => number;
}

type Reason = Candidate['reason'];

/** The deployments of a model, shared by weight; as written where no weight is above 0. */
function expand(model: Model | undefined, reason: Reason, options: RankOptions): readonly Candidate[] {
  const deployments = deploymentsOf(model, options.asked.endpoint, options.supports);
  const ordered = weightedOrder(deployments, (deployment: Deployment) => deployment.weight, options.random);
  return ordered.map((deployment) => ({ deployment, reason }));
}

const weightOf = (candidate: RouteCandidate): number => candidate.weight;

/**
 * Without a wish, canaries are candidates like all others and weight 0 means never. With one, the dice first say which kind
 * serves; the other kind stays behind it, except canaries that were wished away.
 */
function orderCandidates({ route, config, canaryShare, random }: RankOptions): readonly RouteCandidate[] {
  // A retired model must not keep its share of the draw.
  const live = route.candidates.filter(({ model }) => (config.models.get(model)?.stage ?? 'retired') !== 'retired');
  if (canaryShare === null) {
    const weighted = live.filter(({ weight }) => weight > 0);
    return weightedOrder(weighted.length > 0 ? weighted : live, weightOf, random);
  }
  const canaries = weightedOrder(
    live.filter(({ canary }) => canary),
    weightOf,
    random,
  );
  const steady = weightedOrder(
    live.filter(({ canary, weight }) => !canary && weight > 0),
    weightOf,
    random,
  );
  if (steady.length === 0) return canaries;
  if (canaryShare === 0) return steady;
  return random() < canaryShare ? [...canaries, ...steady] : [...steady, ...canaries];
}

function main(options: RankOptions): readonly Candidate[] {
  const { config, route, asked } = options;
  if (route.candidates.length === 0) return expand(namedModel(config, asked) ?? undefined, 'explicit', options);
  return orderCandidates(options).flatMap(({ model, canary }) =>
    expand(config.models.get(model), canary ? 'canary' : 'weighted', options),
  );
}

/**
 * Everyone who may serve by a route, best first, each deployment once: the drawn candidates (or the model asked for), then
 * the route's fallback, then that of the model asked for.
 */
export function rankCandidates(options: RankOptions): readonly Candidate[] {
  const { config, route, asked } = options;
  const own = route.candidates.length === 0 ? (namedModel(config, asked)?.fallback ?? []) : [];
  const fallback = [...route.fallback, ...own].flatMap((name) => expand(config.models.get(name), 'fallback', options));
  const seen = new Set<string>();
  return [...main(options), ...fallback].filter(({ deployment }) => {
    if (seen.has(deployment.id)) return false;
    seen.add(deployment.id);
    return true;
  });
}
