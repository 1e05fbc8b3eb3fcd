import type { Route } from '../../core/snapshot.ts';
import type { Asked } from './eligible.ts';
import type { RouteContext } from './match-inputs.ts';

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

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

/** A tenant's fixed place in [0, 1), spread evenly: a larger share holds whoever is in a smaller one. */
export function placeOf(tenant: string): number {
  // FNV-1a, then the last mixing of MurmurHash3: the low bits of the first alone are not even for names that are alike.
  let hash = OFFSET_BASIS;
  for (let at = 0; at < tenant.length; at += 1) hash = Math.imul(hash ^ tenant.charCodeAt(at), PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
