import type { Arrived, Authenticated, Received } from '../../core/context.ts';
import { type OperationId, operationOf } from '../../core/ids.ts';
import { NOTHING } from '../../core/settlement.ts';
import { admit, type AdmissionOptions, linesOf, type Verdict } from './admission.ts';

/** Under which a run of a job has its place among the requests that run. */
export const placeOf = ({ id }: Pick<Arrived, 'id'>): OperationId => operationOf(id);

/**
 * Admits a run of a job. What it may use was reserved when it was left; its place among the requests that run is the run's own, under
 * an operation of its own: one that waits does not run.
 */
export async function admitRun(
  ctx: Arrived & Authenticated & Received,
  options: Omit<AdmissionOptions, 'part'>,
): Promise<Verdict> {
  if (linesOf(ctx, { ...options, part: 'place' }).length === 0) return await admit(ctx, { ...options, part: 'use' });
  const operation = placeOf(ctx);
  const place = await admit(Object.assign({}, ctx, { operation }), { ...options, part: 'place' });
  if (place.kind !== 'held') return place;
  const use = await admit(ctx, { ...options, part: 'use' });
  if (use.kind === 'held') return { ...use, limits: [...use.limits, ...place.limits] };
  await leavePlace(ctx, options);
  return use;
}

/** Gives the place back, where there is one. */
export async function leavePlace(
  ctx: Arrived & Authenticated & Received,
  { store, directory }: Pick<AdmissionOptions, 'store' | 'directory'>,
): Promise<void> {
  if (linesOf(ctx, { directory, part: 'place' }).length === 0) return;
  await store.settle({ operation: placeOf(ctx), tenant: ctx.principal.tenant, actual: NOTHING, events: [] });
}
