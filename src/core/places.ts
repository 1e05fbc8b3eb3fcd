import { addressOf, type Endpoint } from './endpoint.ts';
import type { Place } from './decision.ts';
import { oncePer } from './once-per.ts';
import type { Deployment } from './snapshot.ts';

/** Where a deployment can serve: at each endpoint of its backend where that is a pool, else wherever Envoy chooses. */
export const placesOf = oncePer((deployment: Deployment): readonly Place[] => {
  const { pool, endpoints } = deployment.backend;
  return pool === undefined ? [{ deployment }] : endpoints.map((endpoint) => ({ deployment, endpoint }));
});

const weightOfAll = oncePer((endpoints: readonly Endpoint[]): number =>
  endpoints.reduce((sum, { weight }) => sum + weight, 0),
);

/** Part of the deployment that an endpoint is, by weight: 0..1; 1 where there is no pool. */
export function shareOf({ deployment: { backend }, endpoint }: Place): number {
  if (endpoint === undefined) return 1;
  return endpoint.weight / weightOfAll(backend.endpoints);
}

/** As people know it: `model@backend`, with the endpoint's address behind it in a pool. */
export function nameOf({ deployment, endpoint }: Place): string {
  return endpoint === undefined ? deployment.id : `${deployment.id}/${addressOf(endpoint)}`;
}
