import { LEAST_LOADED } from '../../core/score-policy.ts';
import type { Group, Weighted } from './group.ts';
import { placesOf } from '../../core/places.ts';

/**
 * Puts the endpoints of pools in the place of their deployments. Where candidates are scored, endpoints are candidates like
 * all others. In a given order each pool keeps its deployment's place, and among its endpoints the load decides.
 */
export function withEndpoints(group: Group): readonly Group[] {
  const { policy, candidates } = group;
  if (candidates.every(({ deployment }) => deployment.backend.pool === undefined)) return [group];
  if (policy !== null) return [{ policy, candidates: candidates.flatMap(endpointsOf) }];
  const groups: Group[] = [];
  let run: Weighted[] = [];
  const endRun = (): void => {
    if (run.length > 0) groups.push({ policy, candidates: run });
    run = [];
  };
  for (const candidate of candidates) {
    if (candidate.deployment.backend.pool === undefined) {
      run.push(candidate);
      continue;
    }
    endRun();
    groups.push({ policy: LEAST_LOADED, isPool: true, candidates: endpointsOf(candidate) });
  }
  endRun();
  return groups;
}

function endpointsOf(candidate: Weighted): readonly Weighted[] {
  return placesOf(candidate.deployment).map((place) => ({ ...candidate, ...place }));
}
