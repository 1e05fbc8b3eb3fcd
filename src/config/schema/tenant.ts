import { z } from 'zod';
import { modelName, name, text } from './scalar.ts';

const amount = () => z.int().min(0).max(1_000_000_000_000).optional();

/** In units of the currency of prices. */
const money = () => z.number().min(0).max(1_000_000_000).optional();

const tenantLimits = z.strictObject({
  requests_per_minute: amount().describe('In any 60 seconds.'),
  requests_per_day: amount().describe('Since the start of the day in ledger.zone.'),
  requests_per_month: amount().describe('Since the first of the month in ledger.zone.'),
  tokens_per_minute: amount().describe('In any 60 seconds, prompt and answer.'),
  tokens_per_day: amount().describe('Since the start of the day in ledger.zone.'),
  tokens_per_month: amount().describe('Since the first of the month in ledger.zone.'),
  spend_per_minute: money().describe('In any 60 seconds, in the currency of prices.'),
  spend_per_day: money().describe('Since the start of the day in ledger.zone.'),
  spend_per_month: money().describe('Since the first of the month in ledger.zone.'),
  concurrent_requests: amount().describe('At one moment, over all workers and servers.'),
});

const rules = {
  tier: text().default('standard').describe('Where a token names none. Default: standard.'),
  business_line: text().default('default').describe('Where a token names none. Default: default.'),
  limits: tenantLimits.prefault({}).describe('For all of the tenant together. A limit that is left out is none.'),
  subject_limits: tenantLimits.prefault({}).describe('For each subject of the tenant on its own.'),
  line_limits: z.record(name(), tenantLimits).default({}).describe('For all of one business line together, by its name.'),
  model_limits: z.record(modelName(), tenantLimits).default({}).describe('For all requests of the tenant for one model, by its name.'),
};

export const tenantsSection = z.array(z.strictObject({ name: text(), ...rules })).describe('Tenants with limits of their own.');

export const tenantDefaultsSection = z.strictObject(rules).describe('For tenants that are not named under `tenants`.');
