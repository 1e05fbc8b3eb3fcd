import type { Source } from '../core/finding.ts';
import { placesOf, shareOf } from '../core/places.ts';
import type { Deployment } from '../core/snapshot.ts';
import type { Findings } from '../routing/findings.ts';
import { incarnationOf } from '../stations/route/targets.ts';

/** Those of whose findings the factor is the share of endpoints that are well. */
const BY_ENDPOINT: readonly Source[] = ['network', 'service', 'model'];

/** The part of a deployment's endpoints that is well by its probes, 0..1; 1 where nobody looks. */
export function aliveOf(findings: Pick<Findings, 'get'>, deployment: Deployment, now: number): number {
  const aliveAt = (incarnation: string): number =>
    Math.min(1, ...BY_ENDPOINT.map((source) => findings.get(incarnation, source, now)?.factor ?? 1));
  return placesOf(deployment).reduce((sum, place) => sum + shareOf(place) * aliveAt(incarnationOf(place)), 0);
}
