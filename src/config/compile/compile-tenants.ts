import type { LimitUnit, LimitWindow } from '../../core/limit.ts';
import type { Tenant, TenantLimit } from '../../core/snapshot.ts';
import type { ConfigDocument } from '../schema/document.ts';

type Rules = ConfigDocument['tenant_defaults'];
type LimitKey = keyof Rules['limits'];

const MINUTE: LimitWindow = { kind: 'sliding', seconds: 60 };
const DAY: LimitWindow = { kind: 'calendar', unit: 'day' };
const MONTH: LimitWindow = { kind: 'calendar', unit: 'month' };

const LINES: readonly (readonly [LimitKey, LimitUnit, LimitWindow])[] = [
  ['requests_per_minute', 'requests', MINUTE],
  ['requests_per_day', 'requests', DAY],
  ['tokens_per_minute', 'tokens', MINUTE],
  ['tokens_per_day', 'tokens', DAY],
  ['tokens_per_month', 'tokens', MONTH],
];

export function compileTenants(document: ConfigDocument): Map<string, Tenant> {
  return new Map(document.tenants.map((entry) => [entry.name, compileTenant(entry.name, entry)]));
}

/** `name` is `*` for the rules of tenants that are not named. */
export function compileTenant(name: string, rules: Rules): Tenant {
  return {
    name,
    tier: rules.tier,
    businessLine: rules.business_line,
    limits: [...lines(rules.limits, 'tenant'), ...lines(rules.subject_limits, 'subject')],
  };
}

function lines(limits: Rules['limits'], per: TenantLimit['per']): TenantLimit[] {
  return LINES.flatMap(([key, unit, window]) => {
    const limit = limits[key];
    return limit === undefined ? [] : [{ unit, window, limit, per }];
  });
}
