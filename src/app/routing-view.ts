import type { RoutingState } from '../admin/admin-deps.ts';
import type { LiveState } from '../core/ports/live.ts';
import type { Snapshot } from '../core/snapshot.ts';

type Deployment = RoutingState['models'][number]['deployments'][number];

/** Models and routes as configured, with what the tries of the last minute say of each deployment. */
export function routingView({ models, routes }: Pick<Snapshot, 'models' | 'routes'>, live: LiveState): RoutingState {
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
        ...stateOf(live.rows.filter(({ deployment }) => deployment === id)),
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

function stateOf(rows: LiveState['rows']): Pick<Deployment, 'state' | 'running'> {
  const sum = (of: (row: LiveState['rows'][number]) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const requests = sum((row) => row.requests);
  const errors = sum((row) => row.errors);
  return {
    state: requests === 0 ? 'unknown' : errors * 2 >= requests ? 'failing' : 'healthy',
    running: sum((row) => row.running),
  };
}
