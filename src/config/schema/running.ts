import { z } from 'zod';
import { duration, replayRule, size, text } from './scalar.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR = 3_600_000;

export const limitsSection = z
  .strictObject({
    body: size({ min: KIB, max: 64 * MIB }).prefault('8MiB').describe('The largest request body. Default: 8MiB.'),
    response: size({ min: 64 * KIB, max: 256 * MIB }).prefault('32MiB').describe('The largest whole answer. Default: 32MiB.'),
    event: size({ min: KIB, max: 16 * MIB }).prefault('8MiB').describe('The largest event of a stream. Default: 8MiB.'),
    headers: size({ min: 8 * KIB, max: 8 * MIB })
      .prefault('60KiB')
      .describe('All request headers together. Rounded up to whole KiB. Default: 60KiB.'),
    json_keys: z.int().min(100).max(1_000_000).default(25_000).describe('Keys of a JSON body, at all levels together. Default: 25000.'),
    json_depth: z.int().min(8).max(1000).default(64).describe('Nesting of a JSON body. Default: 64.'),
  })
  .describe('Bounds of what is read.');

export const timeoutsSection = z
  .strictObject({
    request: duration({ min: 100, max: 24 * HOUR }).prefault('5m').describe('From arrival to the end of the answer. Default: 5m.'),
    max_request: duration({ min: 100, max: 24 * HOUR })
      .optional()
      .describe('The most that x-request-timeout-ms may ask for. Default: 15m, or timeouts.request where that is more.'),
    idle: duration({ min: 100, max: HOUR }).prefault('45s').describe('Silence of a backend, before and between its bytes. Default: 45s.'),
    dead_host: duration({ min: 2000, max: 600_000 })
      .prefault('20s')
      .describe(
        'A host that acknowledges nothing for so long is gone, as after a loss of power: its connections count as broken. Whole seconds. Default: 20s.',
      ),
    connect: duration({ min: 10, max: 60_000 }).prefault('1s').describe('Default: 1s.'),
  })
  .describe('How long things may take.');

export const retrySection = z
  .strictObject({
    retries: z.int().min(0).max(2).default(2).describe('Tries after the first. Default: 2.'),
    base: duration({ min: 1, max: 60_000 }).prefault('25ms').describe('First back-off, doubled each time, with jitter. Default: 25ms.'),
    max: duration({ min: 1, max: 60_000 }).prefault('250ms').describe('The longest back-off. Default: 250ms.'),
    retry_after_cap: duration({ min: 1, max: 60_000 })
      .prefault('2s')
      .describe("The longest Retry-After of a backend that is waited for. Default: 2s."),
    replay: replayRule()
      .default('always')
      .describe(
        'May a request go elsewhere that a backend took and never answered (broken connection, silence)? It may have done the work: the gateway pays for that. always, never, or a CEL expression. Default: always.',
      )
      .meta({ examples: ["request.type != 'agent'"] }),
  })
  .describe('What happens when a try fails before its first byte went to the client.');

export const filterSection = z
  .strictObject({
    enabled: z.boolean().optional().describe('Default: true where there are terms.'),
    terms: z.array(z.string().min(1).max(1000)).max(100_000).default([]).describe('Words and phrases.'),
    terms_file: text().optional().describe('A file with one a line; empty lines and lines that begin with # are left out.'),
  })
  .describe('Refuses prompts that hold certain words.');

export const responsesSection = z.strictObject({
  model: z
    .enum(['requested', 'served', 'upstream'])
    .default('requested')
    .describe('What `model` says in an answer: the name asked for, the model here, or its name at the backend. Default: requested.'),
});

export const telemetrySection = z.strictObject({
  log_level: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info').describe('Default: info.'),
  label_values: z
    .int()
    .min(1)
    .max(100_000)
    .default(100)
    .describe('Distinct values of one metric label before it says "other". Default: 100.'),
});
