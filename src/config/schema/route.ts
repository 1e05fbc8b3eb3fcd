import { z } from 'zod';
import { modelReference } from './model.ts';
import { duration, modelPattern, name, text } from './scalar.ts';

export const onStoreError = () =>
  z
    .enum(['deny', 'allow'])
    .default('deny')
    .describe('When the store is gone: refuse, or serve and book later. Default: deny.');

const route = z.strictObject({
  name: name().describe('Shown in `x-route-id`.'),
  models: z
    .array(modelPattern())
    .min(1)
    .optional()
    .describe('Requested names for which this route is looked at. Default: "auto" where there are candidates, else every name.'),
  match: text()
    .optional()
    .describe('CEL expression; the route is taken when it is true. Default: always.')
    .meta({ examples: ["request.type == 'chat' && tenant.tier == 'premium'"] }),
  candidates: z
    .array(
      z.strictObject({
        model: text(),
        weight: z.int().min(0).max(1_000_000).default(1).describe('Share among the candidates. Default: 1.'),
        canary: z.boolean().default(false).describe('Its share is what x-canary-percentage says, for tokens with the scope "canary". Default: false.'),
      }),
    )
    .default([])
    .describe('Who may serve. Default: the model that was asked for.'),
  fallback: z.array(modelReference()).default([]).describe('Models to try after the chosen one failed.'),
  weights: z
    .strictObject({ cost: z.number().min(0).optional(), latency: z.number().min(0).optional(), quality: z.number().min(0).optional() })
    .optional()
    .describe('Kept for scored routing: no effect in this version.'),
  on_store_error: onStoreError(),
  protect: z
    .enum(['cheaper', 'deny', 'none'])
    .default('cheaper')
    .describe('When the budget of a business line is used up: serve by cheaper candidates only, refuse, or go on. Default: cheaper.'),
  timeout: duration({ min: 100, max: 24 * 3_600_000 }).optional().describe('Default: timeouts.request.'),
});

export const routesSection = z
  .array(route)
  .describe('Looked at in order; the first that fits is taken. A route "default" for everything else is added at the end.');
