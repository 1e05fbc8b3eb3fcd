import { z } from 'zod';
import { limitRule } from './limit-rule.ts';
import { shownTime } from './scalar.ts';

export const SPEND_DIMENSIONS = ['model', 'backend', 'business_line', 'request_type', 'tenant', 'charged_to'] as const;

export const quotaView = z
  .object({
    object: z.literal('quota'),
    tenant: z.string(),
    data: z.array(
      z.object({
        name: z.string().describe('As errors and metrics name it: `tokens_per_day`.'),
        scope: z
          .string()
          .describe(
            '`tenant`, `line:<business line>`, `key:<id>` or `subject:<subject>`; for one model `model:<model>`, with one of those behind a bar where it is not the tenant.',
          ),
        unit: limitRule.shape.unit,
        window: limitRule.shape.window,
        limit: z.int(),
        remaining: z.int(),
        reset_at: shownTime().describe('When the window is wholly free again.'),
      }),
    ),
  })
  .meta({ id: 'Quota' });

export const spendRow = z
  .object({
    at: shownTime().describe('Start of the hour or day.'),
    keys: z.partialRecord(z.enum(SPEND_DIMENSIONS), z.string()),
    currency: z.string(),
    requests: z.int(),
    prompt_tokens: z.int(),
    cached_tokens: z.int(),
    completion_tokens: z.int(),
    cost_micros: z.int().describe('Micro-units of the currency.'),
    cost: z.string().describe('The same as a decimal.'),
  })
  .meta({ id: 'SpendRow' });

export const topRequest = z
  .object({
    request_id: z.string(),
    tenant: z.string(),
    model: z.string(),
    backend: z.string(),
    business_line: z.string(),
    at: shownTime(),
    total_tokens: z.int(),
    cost_micros: z.int(),
    cost: z.string(),
    currency: z.string(),
  })
  .meta({ id: 'TopRequest' });

const anyJson = z.record(z.string(), z.unknown());

export const auditEntry = z
  .object({ id: z.string(), kind: z.enum(['request', 'admin', 'system']), at: shownTime(), facts: anyJson })
  .meta({ id: 'AuditEntry' });

export const configView = z.object({ object: z.literal('config'), config: anyJson }).meta({ id: 'Config' });

export const tracesView = z
  .object({
    object: z.literal('request'),
    id: z.string(),
    data: z.array(anyJson).describe('Newest first: one id may have been sent twice.'),
  })
  .meta({ id: 'RequestTraces' });

const deploymentState = z
  .enum(['healthy', 'failing', 'unknown'])
  .describe('By its tries of the last 60 s: `failing` when half of them or more failed, `unknown` without any.');

const findings = z
  .array(
    z.object({
      source: z.string().describe('`network`, `service`, `model`, `metrics` or `gpu`.'),
      factor: z.number().describe('0 = nothing goes there, up to 1.'),
      reason: z.string().describe('A stable code, as in `x-fallback-reason`.'),
      detail: z.string(),
    }),
  )
  .describe('What probes of the backend found amiss; empty = nothing, or there are no probes.');

export const routingView = z
  .object({
    object: z.literal('routing'),
    models: z.array(
      z.object({
        name: z.string(),
        stage: z.string(),
        fallback: z.array(z.string()),
        deployments: z.array(
          z.object({
            id: z.string(),
            backend: z.string(),
            upstream_model: z.string(),
            weight: z.number(),
            zone: z.string().describe('`hot`, `batch` or `gray`.'),
            stage: z.string().describe('`gray`, `full` or `retired`, as it is now.'),
            percent: z.number().describe('Of the subjects, while it is gray.'),
            state: deploymentState,
            running: z.int().nullable(),
            waiting: z.int().nullable(),
            findings,
            endpoints: z
              .array(
                z.object({
                  address: z.string().describe('`ip:port`.'),
                  zone: z.string().nullable(),
                  state: deploymentState,
                  running: z.int().nullable(),
                  findings,
                }),
              )
              .optional()
              .describe('Of a pool, with its figures at this deployment.'),
          }),
        ),
      }),
    ),
    routes: z.array(
      z.object({
        id: z.string(),
        models: z.array(z.string()),
        match: z.string().nullable(),
        candidates: z.array(z.object({ model: z.string(), weight: z.number(), canary: z.boolean() })),
        fallback: z.array(z.string()),
      }),
    ),
  })
  .meta({ id: 'Routing' });
