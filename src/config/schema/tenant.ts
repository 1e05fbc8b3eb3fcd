import { z } from 'zod';
import { text } from './scalar.ts';

const amount = () => z.int().min(0).max(1_000_000_000_000).optional();

const tenantLimits = z.strictObject({
  requests_per_minute: amount().describe('In any 60 seconds.'),
  requests_per_day: amount().describe('Since 00:00 UTC.'),
  tokens_per_minute: amount().describe('In any 60 seconds, prompt and answer.'),
  tokens_per_day: amount().describe('Since 00:00 UTC.'),
  tokens_per_month: amount().describe('Since the first of the month, UTC.'),
});

const rules = {
  tier: text().default('standard').describe('Where a token names none. Default: standard.'),
  business_line: text().default('default').describe('Where a token names none. Default: default.'),
  limits: tenantLimits.prefault({}).describe('For all of the tenant together. A limit that is left out is none.'),
  subject_limits: tenantLimits.prefault({}).describe('For each subject of the tenant on its own.'),
};

export const tenantsSection = z.array(z.strictObject({ name: text(), ...rules })).describe('Tenants with limits of their own.');

export const tenantDefaultsSection = z.strictObject(rules).describe('For tenants that are not named under `tenants`.');
