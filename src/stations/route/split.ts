import type { Route } from '../../core/snapshot.ts';
import { drawsOf, placeOf } from '../../lib/sticky/place-of.ts';
import type { RouteContext } from './match-inputs.ts';
import { sessionOf, subjectOf } from './subject.ts';

/** Chance, as far as it is left to chance. */
export interface Split {
  /** Draws among candidates by weight. */
  readonly random: () => number;
  /** Decides whether canaries serve: the same answer all through a request. */
  readonly canaryDraw: () => number;
}

/**
 * Where the route keeps to sessions or tenants, the same one draws the same each time. A share of canaries that a client wishes for is of
 * its sessions where it names one, else of its requests.
 */
export function splitOf({
  ctx,
  route,
  share,
  random,
}: {
  readonly ctx: RouteContext;
  readonly route: Pick<Route, 'id' | 'split'>;
  readonly share: number | null;
  readonly random: () => number;
}): Split {
  const who = route.split === undefined ? null : route.split === 'tenant' ? ctx.principal.tenant : subjectOf(ctx);
  const draws = who === null ? random : drawsOf(`${route.id}\n${who}`);
  if (share === null) return { random: draws, canaryDraw: draws };
  const isKept = who !== null || sessionOf(ctx) !== null;
  const drawn = isKept ? placeOf(`canary\n${route.id}\n${who ?? subjectOf(ctx)}`) : random();
  return { random: draws, canaryDraw: () => drawn };
}
