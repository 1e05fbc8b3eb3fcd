import { z } from 'zod';
import { shownTime } from './scalar.ts';

/** Milliseconds with at most one decimal. */
const milliseconds = (text: string) => z.number().nullable().describe(`${text}; null = nothing was served.`);

export const statusView = z
  .object({
    object: z.literal('status'),
    version: z.string(),
    now: shownTime(),
    zone: z.string().describe("IANA name of the zone that the ledger's days and months go by."),
    currency: z.string().nullable().describe('That prices are in; null = there are no prices, or in several.'),
    role: z.enum(['viewer', 'operator', 'admin']).describe("The caller's."),
    tenant: z.string().nullable().describe("The caller's; null = all tenants."),
    config_generation: z.int().describe('Counts the reloads of the configuration, from 1.'),
    audit: z
      .object({ state: z.enum(['ok', 'failing']) })
      .nullable()
      .describe('null = no audit log is kept.'),
    sink: z
      .object({
        state: z
          .enum(['ok', 'behind', 'unknown'])
          .describe('behind = events wait for much longer than `ledger.sink.interval`; unknown = the store does not answer.'),
        lag_events: z.int().nullable().describe('Events that are not known to be there.'),
        lag_ms: z.int().nullable().describe('Age of the oldest of them.'),
      })
      .nullable()
      .describe('The database that events of the ledger are copied to; null = none.'),
  })
  .meta({ id: 'Status' });

export const liveView = z
  .object({
    object: z.literal('live'),
    at: shownTime(),
    replicas: z.array(
      z.object({
        id: z.string(),
        started_at: shownTime(),
        workers: z.int(),
        running: z.int().describe('Requests under way, waiting ones included.'),
      }),
    ),
    data: z
      .array(
        z.object({
          route: z.string(),
          model: z.string(),
          deployment: z.string().describe('In a pool with the endpoint: `model@backend/ip:port`.'),
          backend: z.string(),
          running: z.int().describe('Tries under way.'),
          requests_per_minute: z.int().describe('Tries that ended in the last 60 s.'),
          errors_per_minute: z.int().describe('Those of them that the deployment is to blame for.'),
          tokens_per_minute: z.int(),
          latency_ms_p50: milliseconds('Of whole answers, from the begin of the try'),
          latency_ms_p95: milliseconds('Likewise'),
          first_token_ms_p50: milliseconds('From the begin of the try'),
          cold_share: z
            .number()
            .min(0)
            .max(1)
            .nullable()
            .describe('Of tries of a model that is loaded when asked for: those that had to wait for that. Null for other models.'),
          warm_ms_p95: milliseconds('Of those that had not to wait: to the first token, or of whole answers'),
        }),
      )
      .describe('What ran in the last 60 s.'),
    queues: z
      .array(
        z.object({
          model: z.string(),
          interactive: z.int().describe('Requests that wait now.'),
          batch: z.int().describe('Likewise.'),
          oldest_ms: z.number().describe('How long the first of them waits.'),
          refused_per_minute: z.int().describe('For want of room, in the last 60 s.'),
          waited_per_minute: z.int().describe('Got room after a wait, in the last 60 s.'),
          wait_ms_p95: z.number().nullable().describe('How long those waited; null = nobody.'),
        }),
      )
      .describe('Models for which somebody waits, or did in the last 60 s.'),
    jobs: z
      .object({
        queued: z.int(),
        running: z.int(),
        failed: z.int().describe('Begun too often, and still kept.'),
        oldest_ms: z.number().nullable().describe('How long the oldest of those waits that wait; null = none does.'),
      })
      .nullable()
      .describe('Requests that nobody waits for; null = there are none here, or the store is away.'),
  })
  .meta({ id: 'Live' });

/** Where a budget stands. */
export const budgetState = z
  .object({
    from: shownTime().describe("Begin of the running period, in the ledger's zone."),
    to: shownTime().describe('Its end, excluded.'),
    spent_micros: z.int().describe('Of the same counter that alerts go by.'),
    spent: z.string().describe('The same as a decimal.'),
    percent: z.number().describe('Of the amount, with one decimal, rounded down.'),
    forecast_micros: z
      .int()
      .describe('What the whole period comes to at its pace so far, which is taken from a hundredth of it at least.'),
    forecast: z.string(),
    exhausted_at: shownTime()
      .nullable()
      .describe('When it will be used up at that pace; null = not in this period, or it is already.'),
    protected: z.boolean().describe('Is its line, or tenant, in cost protection because of it?'),
  })
  .meta({ id: 'BudgetState' });
