import { z } from 'zod';
import { label, modelName, name, tenantName } from './scalar.ts';

const whole = (most: number) => z.int().min(0).max(most);

/** A request as far as routing looks at it. */
export const explainQuery = z.strictObject({
  tenant: tenantName().describe('Whose request it would be.'),
  model: modelName().describe('As a client would ask for it; `auto` leaves the choice to the routes.'),
  endpoint: z.enum(['chat', 'completions', 'embeddings']).default('chat'),
  type: label(64).optional().describe('As in `x-request-type`. Default: the endpoint.'),
  class: label(64).optional().describe('As in `x-request-class`.'),
  prompt: z.string().max(8192).optional().describe('What the user says, for classifiers and warm caches.'),
  stream: z.boolean().default(false),
  prompt_tokens: whole(100_000_000).default(100),
  max_tokens: whole(100_000_000).optional().describe("Default: the model's."),
  timeout_ms: whole(86_400_000).optional().describe('Default: as configured.'),
  session: label(256).optional().describe('As in `x-session-id`.'),
  tier: label(64).optional().describe("Default: the tenant's."),
  business_line: name().optional().describe("Default: the tenant's."),
  canary: z.boolean().default(false).describe('With the scope `canary`.'),
});

const judged = z
  .object({
    deployment: z.string().describe('In a pool with the endpoint: `model@backend/ip:port`.'),
    place: z.int().nullable().describe('1 = tried first; null = left out.'),
    reason: z.string().describe('Why it stands there, as `x-route-reason`; or why it was left out, as `x-fallback-reason`.'),
    terms: z.object({ cost: z.number(), latency: z.number(), quality: z.number() }).nullable().describe('0..1, 1 is best.'),
    utility: z.number().nullable().describe('Score without load.'),
    value: z.number().nullable().describe('Score less load: what decides.'),
    health: z.number(),
    running: z.int(),
    load: z.number().describe('1 = full.'),
    warm: z.number().nullable().describe('Part of the prompt, or 1 of a session, that it was sent before and may have yet; null: that does not count.'),
    estimate_ms: z.int().nullable(),
    estimate_cost_micros: z.int(),
    weight: z.number(),
  })
  .meta({ id: 'Judged' });

export const explainView = z
  .object({
    object: z.literal('explain'),
    route: z.string().nullable(),
    reason: z.enum(['model', 'match', 'default']).nullable(),
    fallback_reason: z.string().nullable(),
    class: z
      .object({
        classifier: z.string(),
        class: z.string(),
        by: z.enum(['header', 'rule', 'text', 'default']).describe('What said it.'),
        margin: z.number().nullable().describe('How far it is ahead of the second class, where the text was looked at.'),
      })
      .nullable()
      .describe('Class of the request; null where the route has no classifier.'),
    plan: z.array(z.string()).describe('Deployments in the order in which they would be tried.'),
    words: z.string(),
    candidates: z.array(judged),
    refused: z
      .object({ code: z.string(), status: z.int(), message: z.string() })
      .nullable()
      .describe('What the client would read instead.'),
  })
  .meta({ id: 'Explain' });
