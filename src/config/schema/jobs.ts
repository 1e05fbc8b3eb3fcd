import { z } from 'zod';
import { duration, size } from './scalar.ts';

const MIB = 1024 * 1024;

export const jobsSection = z
  .strictObject({
    key: z
      .string()
      .describe('32 bytes in hex or base64: requests and answers are kept under it (AES-256-GCM). As a reference: "${env:JOBS_KEY}". The same on every server.'),
    count: z.int().min(1).max(1_000_000).default(10_000).describe('Jobs that may wait or run. Default: 10000.'),
    per_tenant: z.int().min(1).max(1_000_000).default(1000).describe('The same, of one tenant. Default: 1000.'),
    bytes: size({ min: MIB, max: 64 * 1024 * MIB }).prefault('256MiB').describe('All of their requests, as they are kept. Default: 256MiB.'),
    max_age: duration({ min: 1000, max: 7 * 24 * 3_600_000 }).prefault('24h').describe('A job that is not begun within it is given up. Default: 24h.'),
    keep: duration({ min: 1000, max: 7 * 24 * 3_600_000 }).prefault('1h').describe('How long answers can be had. Default: 1h.'),
    answers: z.enum(['keep', 'once']).default('keep').describe('once: an answer is gone when it was read. Default: keep.'),
    concurrency: z.int().min(1).max(1000).default(4).describe('Jobs that one worker runs at once. Default: 4.'),
    attempts: z.int().min(1).max(100).default(3).describe('How often a job is begun that gets no answer. Default: 3.'),
    gateway: z
      .string()
      .regex(/^https?:\/\/[^\s/?#@]+\/?$/, 'must be http:// or https:// with a host and a port')
      .optional()
      .describe('Where workers send them: the listener of Envoy. Default: `listen`, on this machine.'),
  })
  .describe('Requests that nobody waits for (`prefer: respond-async`): they wait in Redis until there is room. Default: there are none.');
