import { z } from 'zod';
import { STAGES } from '../../core/stage.ts';
import { className } from './classifier.ts';
import { deploymentLimits } from './backend.ts';
import { deploymentPrice } from './price.ts';
import { modelName, text } from './scalar.ts';

const profile = z.strictObject({
  p95_ms: z.number().min(1).max(3_600_000).optional().describe('Latency of 95 % of the requests in milliseconds, believed until there are figures. Default: not known.'),
  first_token_ms: z.number().min(1).max(3_600_000).optional().describe('Usual time to the first token in milliseconds, likewise. Default: not known.'),
  token_ms: z.number().min(0.01).max(60_000).optional().describe('Usual time for each further token in milliseconds, likewise. Default: not known.'),
  quality: z.number().min(0).max(1).default(0.5).describe('From 0 to 1. Default: 0.5.'),
  quality_for: z
    .record(
      className(),
      z.union([
        z.number().min(0).max(1),
        z.strictObject({
          mean: z.number().min(0).max(1).describe('What was observed.'),
          n: z.int().min(0).max(1_000_000_000).describe('How often. The fewer, the more `quality` counts.'),
        }),
      ]),
    )
    .default({})
    .describe(
      'Quality for a class of requests (`routes[].classify`) or for a type (`x-request-type`, else the endpoint): a figure, or a mean of `n` observations, which is drawn to `quality`. Default: `quality`.',
    )
    .meta({ examples: [{ code: 0.9, batch: { mean: 0.6, n: 40 } }] }),
  quality_strength: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(20)
    .describe('How many observations of a class `quality` is worth. Default: 20.'),
  context: z
    .int()
    .min(1)
    .max(100_000_000)
    .optional()
    .describe('Tokens that prompt and answer may have together; longer requests go to another candidate or get 400. Default: not checked.'),
  default_max_tokens: z
    .int()
    .min(1)
    .max(100_000_000)
    .optional()
    .describe('What the backend generates when a client sets no bound. Default: 1024, or half of `context` where that is less.'),
  max_concurrency: z.int().min(1).max(1_000_000).optional().describe('Short for limits.concurrency.'),
});

const deployment = z.strictObject({
  backend: text().describe('Name of a backend.'),
  model: text().optional().describe("The model's name there. Default: the name of the model here."),
  weight: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('Share among the deployments. All 0: the first serves, the others stand in for it. Default: 0.'),
  stage: z
    .enum(STAGES)
    .default('full')
    .describe('gray: nothing but its `percent` and what is led there; retired: nothing new. It goes forward only; an operator may decide it at run time, too. Default: full.'),
  percent: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe('Of the subjects (sessions, else who asks), while it is gray: always the same ones. Default: 0.'),
  chat_template: text().optional().describe('For dialects that render the prompt themselves.').meta({ examples: ['llama3', 'chatml'] }),
  price: deploymentPrice.prefault({}),
  profile: profile.prefault({}),
  cost_tier: z
    .enum(['core', 'standard', 'economy'])
    .optional()
    .describe('Business lines use only deployments of their own cost tier or a cheaper one. Default: by price among all: the cheapest third economy, the dearest third core, else standard.'),
  limits: deploymentLimits.optional().describe("What is left out comes from the backend's limits."),
});

/** A model by name; `{model: name}` is understood too. */
export const modelReference = () =>
  z.union([text(), z.strictObject({ model: text() })]).transform((value) => (typeof value === 'string' ? value : value.model));

const model = z.strictObject({
  name: modelName().describe('What clients put into `model`.'),
  stage: z.enum(STAGES).default('full').describe('Default: full.'),
  balance: z
    .enum(['weight', 'load'])
    .default('weight')
    .describe('How requests are shared among the deployments: by weight, or to the one with most room, by what runs there and how it answers. Default: weight.'),
  affinity: z
    .enum(['none', 'session', 'prefix', 'model'])
    .default('none')
    .describe(
      'Send requests where they were served before, as long as that deployment is not much busier than others. session: by `x-session-id`, else by how the conversation begins; prefix: by blocks of about 512 tokens with which the prompt begins; model: where it is loaded, of servers that load models or adapters when asked. Only with `balance: load`, with a pool, or in a route with `weights`. Default: none.',
    ),
  deployments: z.array(deployment).min(1, 'needs at least one deployment').describe('Where the model runs, best first.'),
  fallback: z.array(modelReference()).default([]).describe('Models to try when every deployment of this one failed.'),
});

export const modelsSection = z.array(model).min(1, 'needs at least one model').describe('What clients may ask for.');

export const aliasesSection = z
  .record(modelName(), text())
  .describe('Other names for models.')
  .meta({ examples: [{ 'gpt-4o-mini': 'llama-3-8b' }] });
