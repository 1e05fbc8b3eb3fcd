import { z } from 'zod';
import { name } from './scalar.ts';

export const prioritiesSection = z
  .strictObject({
    batch_tiers: z.array(name()).max(64).default([]).describe('Requests of tenants of these tiers are a batch.'),
    batch_share: z
      .number()
      .min(0.01)
      .max(0.5)
      .default(0.1)
      .describe('The part of what is given out, by tokens, and of the places in a queue that batches get while others wait as well. Default: 0.1.'),
  })
  .describe('Which requests wait for others where a queue is. A client calls its own a batch by `x-request-priority: batch`.');
