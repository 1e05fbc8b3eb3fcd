import { GatewayError } from '../../core/error.ts';
import { type Amounts, type LimitLine, limitName, type LimitUnit } from '../../core/limit.ts';
import { formatMicroUnits, microUnits } from '../../core/money.ts';
import type { AdmitResult } from '../../core/ports/quota-store.ts';
import type { Principal } from '../../core/principal.ts';
import { formatSpan, rateLimitHeaders } from './rate-limit-headers.ts';

const SHOWN = 64;

const RETRY_SOON_MS = 1000;

/** Names a level as clients read it: `business line search`, `key key_1`, `model m of subject ann`. */
function holder(scope: string, principal: Principal): string {
  if (scope === 'tenant') return `tenant ${principal.tenant.slice(0, SHOWN)}`;
  const bar = scope.startsWith('model:') ? scope.indexOf('|') : -1;
  if (bar > 0) return `${holder(scope.slice(0, bar), principal)} of ${holder(scope.slice(bar + 1), principal)}`;
  return scope
    .replace(/^line:/, 'business line:')
    .replace(':', ' ')
    .slice(0, SHOWN);
}

function codeOf({ unit, window }: LimitLine): 'budget_exceeded' | 'rate_limit_exceeded' | 'insufficient_quota' {
  if (unit === 'spend') return 'budget_exceeded';
  return window.kind === 'calendar' ? 'insufficient_quota' : 'rate_limit_exceeded';
}

const WHAT = {
  budget_exceeded: 'Spending limit reached',
  rate_limit_exceeded: 'Rate limit reached',
  insufficient_quota: 'Not enough quota left',
} as const;

/** Amounts as people write them: money in units of the currency. */
function shown(unit: LimitUnit, amount: number): string {
  return unit === 'spend' ? formatMicroUnits(microUnits(amount)) : String(amount);
}

/**
 * The error for a request that a line refused: `budget_exceeded` for money, `rate_limit_exceeded` where time alone mends it
 * soon (sliding windows, requests at once), `insufficient_quota` where a day's or month's amount is used up. Says which
 * limit, whose, what is left, and when.
 */
export function quotaRefusal(
  denied: Extract<AdmitResult, { kind: 'denied' }>,
  principal: Principal,
  amounts: Amounts,
): GatewayError {
  const { line, remaining } = denied.by;
  const asked = amounts[line.unit] ?? 0;
  const never = asked > line.limit;
  const code = codeOf(line);
  // When an operation under way will end nobody knows.
  const retryAfterMs = line.window.kind === 'concurrent' ? RETRY_SOON_MS : denied.retryAfterMs;
  const when = never
    ? 'The request alone is above the limit: ask for fewer tokens.'
    : `Please try again in ${formatSpan(Math.ceil(retryAfterMs / 1000) * 1000)}.`;
  const amount = (value: number): string => shown(line.unit, value);
  return new GatewayError(
    code,
    `${WHAT[code]} for ${holder(line.scope, principal)} on ${limitName(line)}: limit ${amount(line.limit)}, remaining ${amount(remaining)}, requested ${amount(asked)}. ${when}`,
    {
      headers: rateLimitHeaders(denied.limits.length > 0 ? denied.limits : [denied.by]),
      ...(never ? {} : { retryAfterMs }),
    },
  );
}
