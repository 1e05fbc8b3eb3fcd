import { GatewayError } from '../../core/error.ts';
import { type Amounts, limitName } from '../../core/limit.ts';
import type { AdmitResult } from '../../core/ports/quota-store.ts';
import type { Principal } from '../../core/principal.ts';
import { formatSpan, rateLimitHeaders } from './rate-limit-headers.ts';

const SHOWN = 64;

function holder(scope: string, principal: Principal): string {
  if (scope === 'tenant') return `tenant ${principal.tenant.slice(0, SHOWN)}`;
  return scope.replace(':', ' ').slice(0, SHOWN);
}

/**
 * The error for a request that a line refused: `rate_limit_exceeded` where time alone mends it soon (sliding windows),
 * `insufficient_quota` where a day's or month's amount is used up. Says which limit, whose, what is left, and when.
 */
export function quotaRefusal(
  denied: Extract<AdmitResult, { kind: 'denied' }>,
  principal: Principal,
  amounts: Amounts,
): GatewayError {
  const { line, remaining } = denied.by;
  const asked = amounts[line.unit];
  const never = asked > line.limit;
  const sliding = line.window.kind === 'sliding';
  const when = never
    ? 'The request alone is above the limit: ask for fewer tokens.'
    : `Please try again in ${formatSpan(Math.ceil(denied.retryAfterMs / 1000) * 1000)}.`;
  const what = sliding ? 'Rate limit reached' : 'Quota used up';
  return new GatewayError(
    sliding ? 'rate_limit_exceeded' : 'insufficient_quota',
    `${what} for ${holder(line.scope, principal)} on ${limitName(line)}: limit ${line.limit}, remaining ${remaining}, requested ${asked}. ${when}`,
    {
      headers: rateLimitHeaders(denied.limits.length > 0 ? denied.limits : [denied.by]),
      ...(never ? {} : { retryAfterMs: denied.retryAfterMs }),
    },
  );
}
