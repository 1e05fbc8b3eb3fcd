import type { LimitUnit, LimitWindow } from '../../core/limit.ts';
import type { Tenant, TenantLimit } from '../../core/snapshot.ts';
import type { ConfigDocument } from '../schema/document.ts';
import { resolveAlias } from './resolve-alias.ts';

type Rules = ConfigDocument['tenant_defaults'];
type LimitKey = keyof Rules['limits'];

const MINUTE: LimitWindow = { kind: 'sliding', seconds: 60 };
const DAY: LimitWindow = { kind: 'calendar', unit: 'day' };
const MONTH: LimitWindow = { kind: 'calendar', unit: 'month' };

const LINES: readonly (readonly [LimitKey, LimitUnit, LimitWindow])[] = [
  ['requests_per_minute', 'requests', MINUTE],
  ['requests_per_day', 'requests', DAY],
  ['requests_per_month', 'requests', MONTH],
  ['tokens_per_minute', 'tokens', MINUTE],
  ['tokens_per_day', 'tokens', DAY],
  ['tokens_per_month', 'tokens', MONTH],
  ['spend_per_minute', 'spend', MINUTE],
  ['spend_per_day', 'spend', DAY],
  ['spend_per_month', 'spend', MONTH],
  ['concurrent_requests', 'requests', { kind: 'concurrent' }],
];

export function compileTenants(document: ConfigDocument): Map<string, Tenant> {
  return new Map(document.tenants.map((entry) => [entry.name, compileTenant(document, entry.name, entry)]));
}

/** `name` is `*` for the rules of tenants that are not named. */
export function compileTenant({ aliases }: Pick<ConfigDocument, 'aliases'>, name: string, rules: Rules): Tenant {
  const ofLines = Object.entries(rules.line_limits).flatMap(([businessLine, limits]) =>
    lines(limits, { per: 'line', businessLine }),
  );
  const ofModels = Object.entries(rules.model_limits).flatMap(([model, limits]) =>
    lines(limits, { per: 'tenant', model: resolveAlias(aliases, model) ?? model }),
  );
  return {
    name,
    tier: rules.tier,
    businessLine: rules.business_line,
    limits: [
      ...lines(rules.limits, { per: 'tenant' }),
      ...lines(rules.subject_limits, { per: 'subject' }),
      ...ofLines,
      ...ofModels,
    ],
  };
}

function lines(limits: Rules['limits'], whose: Pick<TenantLimit, 'per' | 'businessLine' | 'model'>): TenantLimit[] {
  return LINES.flatMap(([key, unit, window]) => {
    const amount = limits[key];
    if (amount === undefined) return [];
    return [{ unit, window, limit: unit === 'spend' ? Math.round(amount * 1_000_000) : amount, ...whose }];
  });
}
