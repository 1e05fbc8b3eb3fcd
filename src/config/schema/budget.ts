import { z } from 'zod';
import { duration, name, text } from './scalar.ts';

const channel = z.strictObject({
  name: name().describe('What business lines call it.'),
  url: text()
    .describe('http:// or https://. Redirects are not followed.')
    .meta({ examples: ['https://hooks.example.org/tokenlat'] }),
  secret: z
    .string()
    .min(16, 'must have at least 16 characters')
    .max(512)
    .describe('Signs every message (Standard Webhooks, HMAC-SHA256), as a reference: "${env:WEBHOOK_SECRET}". Base64 after "whsec_", else plain text.'),
  timeout: duration({ min: 100, max: 60_000 }).prefault('5s').describe('For one delivery. Default: 5s.'),
  allow_link_local: z
    .boolean()
    .default(false)
    .describe('Allow an address in a link-local network or of a metadata service. Default: false.'),
});

const percent = () => z.int().min(1).max(1000);

export const budgetsSection = z
  .strictObject({
    alerts_at: z
      .array(percent())
      .max(16)
      .default([70, 90, 100])
      .describe('Percentages at which a budget that names none raises an alert, once a period. 100 always does. Default: [70, 90, 100].'),
    channels: z.array(channel).max(64).default([]).describe('Webhooks that take alerts.'),
    default_channels: z
      .array(name())
      .optional()
      .describe('For budgets of a whole tenant, and of business lines that name no channel. Default: all of them.'),
  })
  .describe('Alerts of budgets. The budgets themselves are kept by the admin API.');
