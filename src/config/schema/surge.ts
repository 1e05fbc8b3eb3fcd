import { z } from 'zod';
import { modelReference } from './model.ts';
import { duration, name } from './scalar.ts';

const refuseN = z
  .strictObject({
    above: z.int().min(1).max(127).default(1).describe('The largest n that passes. Default: 1.'),
  })
  .describe(
    'Requests for more choices get 429 `surge_protection`; where the caller (`x-accept-adapted: n`) or the route (`reduce_n`) allows it, n is cut down instead.',
  );

const divert = z
  .strictObject({
    share: z.number().gt(0).max(1).default(0.1).describe('Of the tenants, chosen by their names: the same ones each time. Default: 0.1.'),
    model: modelReference().describe('The light model.'),
  })
  .describe('A share of the tenants is served by a light model, on routes with `divert: true`.');

const level = z.strictObject({
  above: z
    .number()
    .gt(0)
    .max(1e9)
    .optional()
    .describe('Requests a second, of all workers of all replicas together. Default: 8000, 10000 and 12000 for the first three levels.'),
  actions: z
    .strictObject({
      refuse_n: refuseN.optional(),
      divert: divert.optional(),
      buffer_streams: z
        .boolean()
        .default(false)
        .describe('Upstreams are asked for whole answers; a client that wants a stream gets it all at once, at the end. Default: false.'),
    })
    .describe('What is done, beside what lower levels do.'),
});

export const surgeSection = z
  .strictObject({
    levels: z
      .array(level)
      .min(1)
      .max(8)
      .describe('From the lowest up.')
      .meta({ examples: [[{ above: 8000, actions: { refuse_n: {} } }, { above: 12000, actions: { buffer_streams: true } }]] }),
    leave_below: z.number().gt(0).max(1).default(0.85).describe('A level is left below this part of its threshold. Default: 0.85.'),
    leave_after: duration({ min: 1000, max: 3_600_000 }).prefault('10s').describe('When the rate was there for so long. Default: 10s.'),
    exempt_tiers: z.array(name()).max(64).default([]).describe('Tenants of these tiers are spared.'),
  })
  .describe('Protection under high load, in levels of the rate of requests. Default: none.');
