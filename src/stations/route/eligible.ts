import type { Endpoint } from '../../core/chat-request.ts';
import type { Deployment, Model, Route, Snapshot } from '../../core/snapshot.ts';

/** Can a backend's dialect serve an endpoint? */
export type Supports = (dialect: string, endpoint: Endpoint) => boolean;

/** What routing reads of a configuration. */
export type RoutingConfig = Pick<Snapshot, 'models' | 'aliases' | 'routes' | 'ledger'>;

/** The part of a request that decides which deployments come into question at all. */
export interface Asked {
  /** As the client wrote it. */
  readonly name: string;
  /** The same, or what it is an alias of. */
  readonly target: string;
  readonly endpoint: Endpoint;
  /** May it use models of the stage `gray` by name? */
  readonly canary: boolean;
}

/** Deployments of a model that serve the endpoint; none of a retired or unknown one. */
export function deploymentsOf(model: Model | undefined, endpoint: Endpoint, supports: Supports): readonly Deployment[] {
  if (model === undefined || model.stage === 'retired') return [];
  return model.deployments.filter((deployment) => supports(deployment.backend.dialect, endpoint));
}

/** The model that was asked for by name, where it may be asked for. */
export function namedModel(config: RoutingConfig, asked: Asked): Model | null {
  const model = config.models.get(asked.target);
  if (model === undefined || model.stage === 'retired') return null;
  return model.stage === 'gray' && !asked.canary ? null : model;
}

/** Could this route serve the request at all? One that cannot is passed over, whatever its rule says. */
export function canServe(route: Route, config: RoutingConfig, asked: Asked, supports: Supports): boolean {
  const named = route.candidates.length === 0 ? namedModel(config, asked) : null;
  if (route.candidates.length === 0 && named === null) return false;
  const names = [...(named === null ? [] : [named.name, ...named.fallback]), ...route.fallback];
  for (const candidate of route.candidates) names.push(candidate.model);
  return names.some((name) => deploymentsOf(config.models.get(name), asked.endpoint, supports).length > 0);
}
