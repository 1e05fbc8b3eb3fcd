import { z } from 'zod';
import { ZONES } from '../../core/zone.ts';
import { className } from './classifier.ts';
import { modelReference } from './model.ts';
import { duration, modelPattern, name, replayRule, text } from './scalar.ts';

export const onStoreError = () =>
  z
    .enum(['deny', 'allow'])
    .default('deny')
    .describe('When the store is gone: refuse, or serve and book later. Default: deny.');

const score = z.strictObject({
  load: z.number().min(0).max(100).default(0.2).describe('What a candidate loses when it is full, in parts of the whole score. Default: 0.2.'),
  cost_ceiling: z
    .number()
    .gt(0)
    .max(1_000_000)
    .optional()
    .describe('What a request may cost, in units of the currency, before its cost counts as worst. Default: compared among the candidates.'),
  latency: duration({ min: 1, max: 3_600_000 })
    .optional()
    .describe('The time at which latency counts as worst. Default: compared among the candidates.'),
  spread: z
    .enum(['near', 'two_choices', 'softmax'])
    .default('near')
    .describe(
      'Who is first among good ones. near: those almost as good as the best, by their weights; two_choices: of two drawn by weight, the better one; softmax: everybody at times, the better ones more often. Default: near.',
    ),
  near: z.number().min(0).max(1).default(0.02).describe('How much worse is almost as good. Default: 0.02.'),
  rules: z
    .array(
      z.strictObject({
        when: text().describe('CEL expression over the request and `target`, `terms`.'),
        multiply: z.number().min(0).max(1000).describe('By what the score of that candidate is multiplied.'),
      }),
    )
    .max(32)
    .default([])
    .describe('Corrections of the score. One that fails is skipped and counted.')
    .meta({ examples: [[{ when: "request.type == 'code' && target.quality < 0.6", multiply: 0.5 }]] }),
  expression: text()
    .optional()
    .describe('CEL expression that gives the score, at least 0, in place of the weighted sum. When it fails for one candidate, the sum holds for all.')
    .meta({ examples: ['0.7 * terms.quality + (target.estimate_ms < 2000.0 ? 0.3 : 0.0)'] }),
  temperature: z.number().min(0.001).max(10).default(0.1).describe('Of softmax: the higher, the more evenly. Default: 0.1.'),
});

const weights = () =>
  z.strictObject({
    cost: z.number().min(0).max(1000).default(0).describe('Default: 0.'),
    latency: z.number().min(0).max(1000).default(0).describe('Default: 0.'),
    quality: z.number().min(0).max(1000).default(0).describe('Default: 0.'),
  });

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
  weights: weights()
    .optional()
    .describe('Candidates by score: what counts, in proportion. All 0: by load alone. Default: by the weights of the candidates.'),
  classify: name()
    .optional()
    .describe('Name of a classifier, which sorts the requests of this route into classes. Default: no classes.'),
  weights_for: z
    .record(className(), weights())
    .default({})
    .describe('What counts for requests of a class, in place of `weights`. Default: `weights`.')
    .meta({ examples: [{ code: { cost: 0.1, quality: 0.9 } }] }),
  score: score.optional().describe('How the score is made. Only together with weights.'),
  split: z
    .enum(['request', 'session', 'tenant'])
    .default('request')
    .describe('What is drawn for when weights decide: each request, or each session (`x-session-id`, else who asks) or tenant, which then gets the same each time. Default: request.'),
  zone: z
    .enum(ZONES)
    .optional()
    .describe('The zone that its requests belong to; gray leads them to gray backends and deployments first. Default: by the type of the request.'),
  on_store_error: onStoreError(),
  protect: z
    .enum(['cheaper', 'deny', 'none'])
    .default('cheaper')
    .describe('When the budget of a business line is used up: serve by cheaper candidates only, refuse, or go on. Default: cheaper.'),
  divert: z.boolean().default(false).describe('Under high load a share of the tenants may be served by `surge`’s light model. Default: false.'),
  reduce_n: z.boolean().default(false).describe('Under high load fewer choices may be given than asked for, rather than a refusal. Default: false.'),
  replay: replayRule()
    .optional()
    .describe('May a request go elsewhere that a backend took and never answered? always, never, or a CEL expression. Default: retry.replay.')
    .meta({ examples: ['!request.has_tools'] }),
  priority: z
    .enum(['interactive', 'batch'])
    .default('interactive')
    .describe('batch: its requests wait for others where there is a queue. Default: interactive, unless tenant or client say batch.'),
  timeout: duration({ min: 100, max: 24 * 3_600_000 }).optional().describe('Default: timeouts.request.'),
});

export const routesSection = z
  .array(route)
  .describe('Looked at in order; the first that fits is taken. A route "default" for everything else is added at the end.');
