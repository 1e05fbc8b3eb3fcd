import type { Arrived, Authenticated } from './context.ts';
import { GatewayError } from './error.ts';
import type { Priority } from './priority.ts';
import { requestTypeOf } from './request-type.ts';
import type { Route } from './snapshot.ts';

/** Says how urgent a request is: a client may call its own less urgent than they are, never more. */
const HEADER = 'x-request-priority';

/** What the client says of it; null = nothing. Throws `invalid_header`. */
export function askedPriority({ head }: Pick<Arrived, 'head'>): Priority | null {
  const [value, ...more] = head.headers.all(HEADER);
  if (value === undefined) return null;
  if (more.length === 0 && (value === 'interactive' || value === 'batch')) return value;
  throw new GatewayError('invalid_header', `${HEADER} must be interactive or batch, once.`, { param: HEADER });
}

/** Does nobody wait for it: by its route, its tenant's tier, its type, its client, or for being a job? */
export function isBatchWork(
  ctx: Pick<Arrived & Authenticated, 'head' | 'endpoint' | 'config' | 'principal'>,
  route: Pick<Route, 'priority' | 'zone'>,
): boolean {
  const { config, principal } = ctx;
  return (
    route.priority === 'batch' ||
    route.zone === 'batch' ||
    principal.job !== undefined ||
    config.priorities.batchTiers.has(principal.tier) ||
    config.zones?.batchTypes.has(requestTypeOf(ctx)) === true ||
    askedPriority(ctx) === 'batch'
  );
}
