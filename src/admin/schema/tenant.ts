import { z } from 'zod';
import type { BudgetRecord, LineRecord, TenantRecord } from '../../core/directory.ts';
import { formatMicroUnits } from '../../core/money.ts';
import type { BudgetStanding } from '../../core/ports/budget-state.ts';
import { limitRule, limitRules } from './limit-rule.ts';
import { label, name, showTime, storedFields, tenantName } from './scalar.ts';
import { budgetState } from './state.ts';

const tenantFields = {
  tier: label(64),
  limits: limitRules().describe('For all of the tenant together.'),
  subject_limits: limitRules().describe('For each subject of the tenant on its own.'),
};

export const tenantCreate = z
  .strictObject({
    name: tenantName(),
    tier: tenantFields.tier.default('standard'),
    limits: tenantFields.limits.default([]),
    subject_limits: tenantFields.subject_limits.default([]),
  })
  .meta({ id: 'TenantCreate' });
export const tenantPatch = z.strictObject(tenantFields).partial().meta({ id: 'TenantPatch' });
export const tenantView = z
  .object({
    object: z.literal('tenant'),
    name: z.string(),
    tier: z.string(),
    limits: z.array(limitRule),
    subject_limits: z.array(limitRule),
    ...storedFields,
  })
  .meta({ id: 'Tenant' });

const lineFields = {
  cost_tier: z.enum(['core', 'standard', 'economy']).describe('Only candidates of this rank or cheaper.'),
  limits: limitRules(),
  channels: z.array(name()).max(32).describe('Where alerts of its budgets go.'),
};

export const lineCreate = z
  .strictObject({
    name: name(),
    cost_tier: lineFields.cost_tier.default('core'),
    limits: lineFields.limits.default([]),
    channels: lineFields.channels.default([]),
  })
  .meta({ id: 'LineCreate' });
export const linePatch = z.strictObject(lineFields).partial().meta({ id: 'LinePatch' });
export const lineView = z
  .object({
    object: z.literal('line'),
    tenant: z.string(),
    name: z.string(),
    cost_tier: lineFields.cost_tier,
    limits: z.array(limitRule),
    channels: z.array(z.string()),
    ...storedFields,
  })
  .meta({ id: 'Line' });

const budgetFields = {
  period: z.enum(['day', 'month']),
  amount_micros: z.int().min(1).max(1_000_000_000_000_000).describe('Micro-units of the currency: 1 USD = 1000000.'),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency code of three capital letters'),
  alerts_at: z
    .array(z.int().min(1).max(1000))
    .max(10)
    .refine((all) => all.every((at, index) => index === 0 || at > (all[index - 1] ?? 0)), 'must rise')
    .describe('Percentages at which an alert is raised, once a period.'),
};

export const budgetCreate = z
  .strictObject({
    tenant: tenantName(),
    business_line: name().nullable().default(null).describe('Default: for the whole tenant.'),
    period: budgetFields.period,
    amount_micros: budgetFields.amount_micros,
    currency: budgetFields.currency.default('USD'),
    alerts_at: budgetFields.alerts_at.default([70, 90, 100]),
  })
  .meta({ id: 'BudgetCreate' });
export const budgetPatch = z.strictObject(budgetFields).partial().meta({ id: 'BudgetPatch' });
export const budgetView = z
  .object({
    object: z.literal('budget'),
    id: z.string(),
    tenant: z.string(),
    business_line: z.string().nullable(),
    period: budgetFields.period,
    amount_micros: z.int(),
    currency: z.string(),
    alerts_at: z.array(z.int()),
    ...storedFields,
  })
  .meta({ id: 'Budget' });

export const budgetStateView = budgetView
  .extend({
    state: budgetState
      .nullable()
      .describe('null = it is in another currency than prices, and is neither measured nor watched.'),
  })
  .meta({ id: 'BudgetWithState' });

const stored = ({ version, createdAt, updatedAt }: TenantRecord | LineRecord | BudgetRecord) => ({
  version,
  created_at: showTime(createdAt),
  updated_at: showTime(updatedAt),
});

export const showTenant = (tenant: TenantRecord): z.output<typeof tenantView> => ({
  object: 'tenant',
  name: tenant.name,
  tier: tenant.tier,
  limits: [...tenant.limits],
  subject_limits: [...tenant.subjectLimits],
  ...stored(tenant),
});

export const showLine = (line: LineRecord): z.output<typeof lineView> => ({
  object: 'line',
  tenant: line.tenant,
  name: line.name,
  cost_tier: line.costTier,
  limits: [...line.limits],
  channels: [...line.channels],
  ...stored(line),
});

export const showBudget = (budget: BudgetRecord): z.output<typeof budgetView> => ({
  object: 'budget',
  id: budget.id,
  tenant: budget.tenant,
  business_line: budget.businessLine,
  period: budget.period,
  amount_micros: budget.amount,
  currency: budget.currency,
  alerts_at: [...budget.alertsAt],
  ...stored(budget),
});

/** A budget with where it stands, as far as that is known. */
export function showStanding(
  budget: BudgetRecord,
  standings: ReadonlyMap<string, BudgetStanding>,
): z.output<typeof budgetStateView> {
  const standing = standings.get(budget.id);
  return { ...showBudget(budget), state: standing === undefined ? null : showState(standing) };
}

const showState = ({ from, to, spent, percent, forecast, exhaustedAt, protecting }: BudgetStanding) => ({
  from: showTime(from),
  to: showTime(to),
  spent_micros: spent,
  spent: formatMicroUnits(spent),
  percent,
  forecast_micros: forecast,
  forecast: formatMicroUnits(forecast),
  exhausted_at: exhaustedAt === null ? null : showTime(exhaustedAt),
  protected: protecting,
});
