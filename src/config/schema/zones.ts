import { z } from 'zod';
import { duration } from './scalar.ts';

export const zonesSection = z
  .strictObject({
    batch_types: z
      .array(z.string().regex(/^[\x21-\x7e]{1,64}$/, 'must be a type of request: 1 to 64 visible characters'))
      .min(1)
      .max(64)
      .default(['batch'])
      .describe('Types of request (`x-request-type`) that are batch work. Default: batch.'),
    batch_uses_hot_below: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe('Batch work may use hot backends while less than this part of their `limits.concurrency` runs. 0: never. Default: 0.5.'),
    hot_uses_batch_above: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .describe('From this part on, hot requests may use batch backends. Default: never.'),
    retry_after: duration({ min: 1000, max: 3_600_000 })
      .prefault('10s')
      .describe('What batch work is told that finds no room. Default: 10s.'),
  })
  .describe('Keeps work that may wait apart from requests that somebody waits for, by `backends[].zone`. In force as soon as a backend is not hot.');
