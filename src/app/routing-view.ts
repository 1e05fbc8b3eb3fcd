import type { RoutingState } from '../admin/admin-deps.ts';
import type { Snapshot } from '../core/snapshot.ts';

/** Models and routes as configured. Health is Envoy's to know, what runs each worker's: neither is said here. */
export function routingView({ models, routes }: Pick<Snapshot, 'models' | 'routes'>): RoutingState {
  return {
    models: [...models.values()].map(({ name, stage, fallback, deployments }) => ({
      name,
      stage,
      fallback,
      deployments: deployments.map(({ id, backend, upstreamModel, weight }) => ({
        id,
        backend: backend.name,
        upstreamModel,
        weight,
        state: 'unknown',
        running: null,
        waiting: null,
      })),
    })),
    routes: routes.map(({ id, models: names, match, candidates, fallback }) => ({
      id,
      models: names,
      match,
      candidates,
      fallback,
    })),
  };
}
