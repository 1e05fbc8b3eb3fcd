import { z } from 'zod';
import { duration } from './scalar.ts';

const rate = () => z.number().gt(0).max(1);
/** Breakers remember the last minute. */
const WINDOW = { min: 1000, max: 60_000 };

const slow = z
  .strictObject({
    first_token: duration({ min: 10, max: 3_600_000 }).optional().describe('Of streams: from the try to the first token. Default: not judged.'),
    total: duration({ min: 10, max: 3_600_000 }).optional().describe('Of whole answers and embeddings. Default: not judged.'),
  })
  .describe('A P95 above this opens a breaker, too.');

const hard = z
  .strictObject({
    window: duration(WINDOW).prefault('1m').describe('Default: 1m.'),
    error_rate: rate().default(0.5).describe('Default: 0.5.'),
    errors: z.int().min(1).max(100_000).default(10).describe('And more errors than this. Default: 10.'),
    open: duration({ min: 1000, max: 3_600_000 }).prefault('1m').describe('Nothing goes there for so long. Default: 1m.'),
  })
  .describe('When most tries fail.');

export const breakersSection = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Default: true.'),
    window: duration(WINDOW).prefault('30s').describe('Default: 30s.'),
    error_rate: rate().default(0.1).describe('Opens above this share of failed tries, when that is believable. Default: 0.1.'),
    slow: slow.prefault({}),
    minimum: z.int().min(1).max(100_000).default(20).describe('Fewer tries in the window say nothing. Default: 20.'),
    in_a_row: z.int().min(2).max(1000).default(6).describe('So many failures one after another open it, however few tries there were. Default: 6.'),
    probe_share: z.number().gt(0).max(0.5).default(0.05).describe('Share of its usual requests that goes there all the same while it is open. Default: 0.05.'),
    probe_interval: duration({ min: 100, max: 600_000 }).prefault('10s').describe('At least one request goes there in this time. Default: 10s.'),
    hard: hard.prefault({}),
    when_all_open: z
      .enum(['serve', 'refuse'])
      .default('serve')
      .describe('When breakers hold back every candidate: ask them all the same, so that nobody waits once they are well again, or 503 `circuit_breaker_open`. Default: serve.'),
    text: z.string().min(1).max(500).optional().describe('What a client reads then.'),
  })
  .describe('Take deployments that fail, got slow or ask for a rest (429 with retry-after) out of the way, for a while. One a deployment and kind of request.');
