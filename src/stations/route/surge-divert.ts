import type { Route } from '../../core/snapshot.ts';
import { placeOf } from '../../lib/sticky/place-of.ts';
import type { Asked } from './eligible.ts';
import type { RouteContext } from './match-inputs.ts';

/** The model that serves this tenant in place of the usual one, under high load; null = the usual one. */
export function divertedTo(
  { surge, principal }: Pick<RouteContext, 'surge' | 'principal'>,
  route: Pick<Route, 'divert'>,
  { target }: Pick<Asked, 'target'>,
): string | null {
  const divert = surge?.divert ?? null;
  if (divert === null || !route.divert || divert.model === target) return null;
  return placeOf(principal.tenant) < divert.share ? divert.model : null;
}

/** What the trail says of it; null where nothing is diverted. */
export function diversionWords(model: string | null, isServed: boolean): string | null {
  return model === null ? null : `high load: tenant goes to ${model}${isServed ? '' : ', which cannot serve'}`;
}
