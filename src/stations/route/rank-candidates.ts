import type { Candidate } from '../../core/decision.ts';
import { LEAST_LOADED, type ScorePolicy } from '../../core/score-policy.ts';
import type { Deployment, Model, Route, RouteCandidate } from '../../core/snapshot.ts';
import { deploymentsOf, namedModel } from './eligible.ts';
import type { Asked, RoutingConfig, Supports } from './eligible.ts';
import type { Group, Weighted } from './group.ts';
import { weightedOrder } from './weighted-order.ts';

export interface RankOptions {
  readonly config: RoutingConfig;
  readonly route: Route;
  readonly asked: Asked;
  /** Class of the request; null = it has none. */
  readonly class: string | null;
  /** 0..1 of the requests go to canaries; null: by their weights. */
  readonly canaryShare: number | null;
  /** A light model that serves before all others. */
  readonly diverted: string | null;
  readonly supports: Supports;
  readonly random: () => number;
  /** Decides whether canaries serve, by their share. */
  readonly canaryDraw?: () => number;
  /** 0..1: a sick deployment gets less of its share. */
  readonly healthOf: (deployment: Deployment) => number;
}

type Reason = Candidate['reason'];

/** The deployments of a model in one group: by load where the model says so, else shared by weight, or as written. */
function expand(model: Model | undefined, reason: Reason, options: RankOptions): Group {
  const { asked, supports, random, healthOf } = options;
  const deployments = deploymentsOf(model, asked.endpoint, supports);
  const byLoad = model?.balance === 'load';
  const ordered = byLoad
    ? deployments
    : weightedOrder(deployments, (each: Deployment) => each.weight * healthOf(each), random);
  return {
    policy: byLoad ? LEAST_LOADED : null,
    candidates: ordered.map((deployment) => ({ deployment, reason, weight: deployment.weight })),
  };
}

/** All deployments of the drawn models in one group, to be scored against one another. */
function together(policy: ScorePolicy, drawn: readonly RouteCandidate[], options: RankOptions): Group {
  const { config, asked, supports } = options;
  const candidates = drawn.flatMap(({ model, canary, weight }): readonly Weighted[] =>
    deploymentsOf(config.models.get(model), asked.endpoint, supports).map((deployment) => ({
      deployment,
      reason: canary ? 'canary' : 'weighted',
      weight: weight * Math.max(1, deployment.weight),
    })),
  );
  return { policy, candidates };
}

const weightOf = (candidate: RouteCandidate): number => candidate.weight;

/** A retired model must not keep its share of the draw. */
function liveOf({ route, config }: RankOptions): readonly RouteCandidate[] {
  return route.candidates.filter(({ model }) => (config.models.get(model)?.stage ?? 'retired') !== 'retired');
}

/**
 * Without a wish, canaries are candidates like all others and weight 0 means never. With one, the dice first say which kind
 * serves; the other kind stays behind it, except canaries that were wished away.
 */
function orderCandidates(options: RankOptions): readonly RouteCandidate[] {
  const { canaryShare, random, canaryDraw = random } = options;
  const live = liveOf(options);
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
  const others = live.filter(({ canary }) => !canary);
  if (steady.length === 0) return canaryShare === 0 && others.length > 0 ? others : canaries;
  if (canaryShare === 0) return steady;
  return canaryDraw() < canaryShare ? [...canaries, ...steady] : [...steady, ...canaries];
}

function main(options: RankOptions): readonly Group[] {
  const { config, route, asked } = options;
  if (route.candidates.length === 0) return [expand(namedModel(config, asked) ?? undefined, 'explicit', options)];
  if (route.score !== null) {
    const ofClass = options.class === null ? undefined : route.scoreFor.get(options.class);
    return byScore(ofClass ?? route.score, options);
  }
  return orderCandidates(options).map(({ model, canary }) =>
    expand(config.models.get(model), canary ? 'canary' : 'weighted', options),
  );
}

/** The dice say whether canaries serve, by their share; the score says who of them, and who of the others. */
function byScore(policy: ScorePolicy, options: RankOptions): readonly Group[] {
  const { canaryShare, random, canaryDraw = random } = options;
  const all = liveOf(options);
  const fit = all.filter(({ weight, canary }) => weight > 0 || (canary && canaryShare !== null));
  const live = canaryShare === 0 && fit.every(({ canary }) => canary) ? all : fit;
  const canaries = live.filter(({ canary }) => canary);
  const steady = live.filter(({ canary }) => !canary);
  const sum = (some: readonly RouteCandidate[]): number => some.reduce((total, { weight }) => total + weight, 0);
  const share = canaryShare ?? sum(canaries) / Math.max(1, sum(live));
  const kinds = share === 0 ? [steady] : canaryDraw() < share ? [canaries, steady] : [steady, canaries];
  return kinds.map((kind) => together(policy, kind, options));
}

/**
 * Everyone who may serve by a route, in groups, each deployment once: the light model, the drawn candidates (or the model asked for), then
 * the route's fallback, then that of the model asked for.
 */
export function rankCandidates(options: RankOptions): readonly Group[] {
  const { config, route, asked, diverted } = options;
  const light = diverted === null ? [] : [expand(config.models.get(diverted), 'fallback', options)];
  const own = route.candidates.length === 0 ? (namedModel(config, asked)?.fallback ?? []) : [];
  const fallback = [...route.fallback, ...own].map((name) => expand(config.models.get(name), 'fallback', options));
  const seen = new Set<string>();
  return [...light, ...main(options), ...fallback]
    .map(({ policy, candidates }) => ({
      policy,
      candidates: candidates.filter(({ deployment }) => {
        if (seen.has(deployment.id)) return false;
        seen.add(deployment.id);
        return true;
      }),
    }))
    .filter(({ candidates }) => candidates.length > 0);
}
