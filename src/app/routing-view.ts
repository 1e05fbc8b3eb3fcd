import type { RoutingState } from '../admin/admin-deps.ts';
import type { Place } from '../core/decision.ts';
import { addressOf } from '../core/endpoint.ts';
import { nameOf, placesOf } from '../core/places.ts';
import type { LiveState } from '../core/ports/live.ts';
import type { Deployment as Configured, Snapshot } from '../core/snapshot.ts';
import { CONFIGURED_STAGES, type StageView } from '../core/ports/stage-view.ts';
import type { Found } from '../routing/findings.ts';

type Deployment = RoutingState['models'][number]['deployments'][number];

/** What probes say of a place now. */
export type FoundAt = (place: Place) => readonly Omit<Found, 'incarnation'>[];

/** Models and routes as configured, with what the tries of the last minute, and probes, say of each deployment. */
export function routingView(
  { models, routes }: Pick<Snapshot, 'models' | 'routes'>,
  live: LiveState,
  found: FoundAt = () => [],
  stages: StageView = CONFIGURED_STAGES,
): RoutingState {
  return {
    models: [...models.values()].map(({ name, stage, fallback, deployments }) => ({
      name,
      stage,
      fallback,
      deployments: deployments.map((deployment) => viewOf(deployment, { live, found, stages })),
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

interface Known {
  readonly live: LiveState;
  readonly found: FoundAt;
  readonly stages: StageView;
}

function viewOf(configured: Configured, { live, found, stages }: Known): Deployment {
  const { id, backend, upstreamModel, weight } = configured;
  const places = placesOf(configured);
  const names = new Set(places.map(nameOf));
  return {
    id,
    backend: backend.name,
    upstreamModel,
    weight,
    zone: backend.zone ?? 'hot',
    ...stages.of(configured),
    ...stateOf(live.rows.filter(({ deployment }) => names.has(deployment))),
    waiting: null,
    ...(backend.pool === undefined
      ? { findings: findingsOf({ deployment: configured }, found) }
      : { findings: [], endpoints: places.map((place) => endpointOf(place, live, found)) }),
  };
}

function endpointOf(place: Place, live: LiveState, found: FoundAt): NonNullable<Deployment['endpoints']>[number] {
  const { endpoint } = place;
  return {
    address: endpoint === undefined ? '' : addressOf(endpoint),
    zone: endpoint?.zone ?? null,
    ...stateOf(live.rows.filter(({ deployment }) => deployment === nameOf(place))),
    findings: findingsOf(place, found),
  };
}

function findingsOf(place: Place, found: FoundAt): Deployment['findings'] {
  return found(place).map(({ source, finding: { factor, reason, detail } }) => ({
    source,
    factor: Math.round(factor * 1000) / 1000,
    reason,
    detail,
  }));
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
