import type { ConfiguredDeployment } from '../admin/admin-deps.ts';
import type { Snapshot } from '../core/snapshot.ts';

/** Every deployment of a configuration, in order of id. */
export function configuredDeployments({ models }: Pick<Snapshot, 'models'>): readonly ConfiguredDeployment[] {
  return [...models.values()]
    .flatMap(({ deployments }) => deployments)
    .map(({ id, model, backend, upstreamModel, stage = 'full', percent = 0 }) => ({
      id,
      model,
      backend: backend.name,
      zone: backend.zone ?? 'hot',
      upstreamModel,
      stage,
      percent,
    }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
