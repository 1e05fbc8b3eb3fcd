import type { Price } from '../../core/money.ts';
import type { Classifier } from '../../core/classifier.ts';
import { shrunk } from '../../lib/text-classes/quality-table.ts';
import type { ConfigDocument } from '../schema/document.ts';
import { compileScore, compileScoreFor } from './compile-score.ts';
import type { Backend, Deployment, Model, Route } from '../../core/snapshot.ts';
import { compileLimits } from './compile-limits.ts';
import { compilePrice } from './compile-price.ts';
import { relativeTier } from './cost-tiers.ts';
import { resolveAlias } from './resolve-alias.ts';

type ModelEntry = ConfigDocument['models'][number];
type DeploymentEntry = ModelEntry['deployments'][number];

/** The bound for requests without one: 1024 tokens, or half of a small context. */
export function defaultMaxTokens(profile: DeploymentEntry['profile']): number {
  return profile.default_max_tokens ?? Math.max(1, Math.min(1024, Math.floor((profile.context ?? Infinity) / 2)));
}

export function compileModels(document: ConfigDocument, backends: ReadonlyMap<string, Backend>): Map<string, Model> {
  return new Map(
    document.models.map((model) => [
      model.name,
      {
        name: model.name,
        stage: model.stage,
        balance: model.balance,
        affinity: model.affinity,
        deployments: model.deployments.map((entry) => compileDeployment(document, model, entry, backends)),
        fallback: model.fallback.map((name) => target(document, name)),
      },
    ]),
  );
}

/**
 * Names for which a route is looked at. A choice of our own is made for those who leave it to us (`auto`); a route that only
 * sets rules is for every name.
 */
export function modelsOf(route: ConfigDocument['routes'][number]): readonly string[] {
  return route.models ?? (route.candidates.length > 0 ? ['auto'] : ['*']);
}

/** Routes in order, with a route for everything else at the end. */
export function compileRoutes(document: ConfigDocument, classifiers: ReadonlyMap<string, Classifier>): Route[] {
  const routes = document.routes.map((route) => ({
    id: route.name,
    models: modelsOf(route),
    match: route.match ?? null,
    candidates: route.candidates.map((candidate) => ({ ...candidate, model: target(document, candidate.model) })),
    fallback: route.fallback.map((name) => target(document, name)),
    onStoreError: route.on_store_error,
    timeoutMs: route.timeout ?? null,
    protect: route.protect,
    divert: route.divert,
    reduceN: route.reduce_n,
    replay: route.replay ?? null,
    priority: route.priority === 'batch' ? ('batch' as const) : null,
    score: compileScore(route),
    classifier: route.classify === undefined ? null : (classifiers.get(route.classify) ?? null),
    scoreFor: compileScoreFor(route),
    ...(route.split === 'request' ? {} : { split: route.split }),
    ...(route.zone === undefined ? {} : { zone: route.zone }),
  }));
  if (routes.some((route) => route.match === null && route.models.includes('*'))) return routes;
  const { on_store_error: onStoreError } = document.ledger;
  return [
    ...routes,
    {
      id: 'default',
      models: ['*'],
      match: null,
      candidates: [],
      fallback: [],
      onStoreError,
      timeoutMs: null,
      protect: 'cheaper',
      divert: false,
      reduceN: false,
      replay: null,
      score: null,
      classifier: null,
      scoreFor: new Map(),
    },
  ];
}

export function compileAliases(document: ConfigDocument): Map<string, string> {
  return new Map(Object.keys(document.aliases).map((alias) => [alias, target(document, alias)]));
}

function target(document: ConfigDocument, name: string): string {
  return resolveAlias(document.aliases, name) ?? name;
}

function compileDeployment(
  document: ConfigDocument,
  model: ModelEntry,
  entry: DeploymentEntry,
  backends: ReadonlyMap<string, Backend>,
): Deployment {
  const backend = backends.get(entry.backend);
  if (backend === undefined) throw new Error(`unchecked reference to backend ${entry.backend}`);
  const { profile } = entry;
  const shared = document.backends.find((candidate) => candidate.name === entry.backend)?.limits;
  return {
    id: `${model.name}@${backend.name}`,
    model: model.name,
    backend,
    upstreamModel: entry.model ?? model.name,
    weight: entry.weight,
    stage: entry.stage,
    percent: entry.percent,
    chatTemplate: entry.chat_template ?? null,
    price: compilePrice(entry.price),
    costTier: entry.cost_tier ?? relativeTier(compilePrice(entry.price), pricesOf(document), Date.now()),
    profile: {
      p95Ms: profile.p95_ms ?? null,
      firstTokenMs: profile.first_token_ms ?? null,
      tokenMs: profile.token_ms ?? null,
      quality: profile.quality,
      qualityFor: compileQualityFor(profile),
      context: profile.context ?? 0,
      defaultMaxTokens: defaultMaxTokens(profile),
    },
    ...compileLimits({
      short: profile.max_concurrency,
      own: entry.limits,
      shared,
      endpoints: backend.endpoints.length,
    }),
  };
}

/** Means of observations, drawn to the quality in general. */
function compileQualityFor(profile: DeploymentEntry['profile']): ReadonlyMap<string, number> {
  const { quality, quality_for: qualityFor, quality_strength: strength } = profile;
  return new Map(
    Object.entries(qualityFor).map(([name, said]) => [
      name,
      typeof said === 'number' ? said : shrunk(said, quality, strength),
    ]),
  );
}

function pricesOf({ models }: ConfigDocument): readonly Price[] {
  return models.flatMap((model) => model.deployments.map(({ price }) => compilePrice(price)));
}
