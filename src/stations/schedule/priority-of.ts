import type { Arrived, Authenticated } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import type { Priority } from '../../core/priority.ts';
import type { Route } from '../../core/snapshot.ts';

/** Says how urgent a request is: a client may call its own less urgent than they are, never more. */
const HEADER = 'x-request-priority';

/** What the client says of it; null = nothing. Throws `invalid_header`. */
export function askedPriority({ head }: Pick<Arrived, 'head'>): Priority | null {
  const [value, ...more] = head.headers.all(HEADER);
  if (value === undefined) return null;
  if (more.length === 0 && (value === 'interactive' || value === 'batch')) return value;
  throw new GatewayError('invalid_header', `${HEADER} must be interactive or batch, once.`, { param: HEADER });
}

/** A batch by what its route, its tenant's tier or its client says; interactive otherwise. */
export function priorityOf(
  ctx: Pick<Arrived & Authenticated, 'head' | 'config' | 'principal'>,
  route: Pick<Route, 'priority'>,
): Priority {
  const isBatch =
    route.priority === 'batch' ||
    ctx.config.priorities.batchTiers.has(ctx.principal.tier) ||
    askedPriority(ctx) === 'batch';
  return isBatch ? 'batch' : 'interactive';
}
