import type { StageView } from '../../core/ports/stage-view.ts';
import type { Deployment, Route } from '../../core/snapshot.ts';
import { placeOf } from '../../lib/sticky/place-of.ts';
import type { Weighted } from './group.ts';
import type { RouteContext } from './match-inputs.ts';
import { subjectOf } from './subject.ts';

export interface GrayOptions {
  readonly ctx: RouteContext;
  readonly route: Pick<Route, 'zone'>;
  readonly stages: StageView;
  /** Does this request belong to the share of canaries that its client asked for? Null: it asked for none. */
  readonly wished: boolean | null;
}

/** Does it get nothing but what is led there? */
export function isGray(deployment: Deployment, stages: StageView): boolean {
  return deployment.backend.zone === 'gray' || stages.of(deployment).stage === 'gray';
}

/**
 * Whom of the gray ones the request is led to: all of them, by a route of the zone `gray` or the client's wish; else, of each
 * model, at most one, by the share of the subjects that it has. A subject keeps its place in [0, 100), so that a greater share holds
 * all subjects of a smaller one, and shares of one model lie side by side.
 */
export function ledTo(
  candidates: readonly Weighted[],
  { ctx, route, stages, wished }: GrayOptions,
): ReadonlySet<Weighted> {
  if (route.zone === 'gray' || wished === true) return new Set(candidates);
  if (wished === false || candidates.length === 0) return new Set();
  const led = new Set<Weighted>();
  const begin = new Map<string, number>();
  for (const candidate of candidates) {
    const { model } = candidate.deployment;
    const { percent } = stages.of(candidate.deployment);
    if (percent <= 0) continue;
    const from = begin.get(model) ?? 0;
    begin.set(model, from + percent);
    const place = 100 * placeOf(`${model}\n${subjectOf(ctx)}`);
    if (place >= from && place < from + percent) led.add(candidate);
  }
  return led;
}
