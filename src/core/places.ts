import { addressOf } from './endpoint.ts';
import type { Place } from './decision.ts';
import type { Deployment } from './snapshot.ts';

const known = new WeakMap<Deployment, readonly Place[]>();

/** Where a deployment can serve: at each endpoint of its backend where that is a pool, else wherever Envoy chooses. */
export function placesOf(deployment: Deployment): readonly Place[] {
  const made = known.get(deployment);
  if (made !== undefined) return made;
  const { pool, endpoints } = deployment.backend;
  const places: readonly Place[] =
    pool === undefined ? [{ deployment }] : endpoints.map((endpoint) => ({ deployment, endpoint }));
  known.set(deployment, places);
  return places;
}

/** Part of the deployment that an endpoint is, by weight: 0..1; 1 where there is no pool. */
export function shareOf({ deployment: { backend }, endpoint }: Place): number {
  if (endpoint === undefined) return 1;
  return endpoint.weight / backend.endpoints.reduce((sum, { weight }) => sum + weight, 0);
}

/** As people know it: `model@backend`, with the endpoint's address behind it in a pool. */
export function nameOf({ deployment, endpoint }: Place): string {
  return endpoint === undefined ? deployment.id : `${deployment.id}/${addressOf(endpoint)}`;
}
