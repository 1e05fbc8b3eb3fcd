import { z } from 'zod';
import { duration, size, text } from './scalar.ts';

const MIB = 1024 * 1024;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const auditSection = z
  .strictObject({
    dir: text().describe('Folder of the log. Each host or container needs its own, or a host name of its own.'),
    on_error: z
      .enum(['block', 'continue'])
      .default('continue')
      .describe(
        'While records cannot be kept: refuse requests, or serve them and count what is missing. With `block` a request is settled only when its record is on disk, so that a crash leaves no booking without a record. Default: continue.',
      ),
    segment: size({ min: 64 * 1024, max: 1024 * MIB }).prefault('64MiB').describe('A file that is larger is finished and the next one begun. Default: 64MiB.'),
    rotate: duration({ min: 60_000, max: 30 * DAY }).prefault('1d').describe('So is one that is older. Default: 1d.'),
    keep: duration({ min: HOUR, max: 3660 * DAY })
      .prefault('90d')
      .describe('Files whose every record is older are removed; a signed checkpoint says so first. Default: 90d.'),
    checkpoint: z
      .strictObject({
        every: duration({ min: 100, max: DAY }).prefault('10s').describe('A checkpoint is signed after this long, when there are new records. Default: 10s.'),
        records: z.int().min(1).max(10_000_000).default(10_000).describe('And after this many records. Default: 10000.'),
        dir: text().optional().describe('Folder for checkpoints: outside `audit.dir`, best on another machine.'),
        redis: z.boolean().optional().describe('Keep checkpoints in Redis. Default: true where there is a `redis` section.'),
      })
      .prefault({})
      .describe('Signed statements of how far the log goes, kept apart from it. What comes after the last one can be cut unseen. Needs `dir`, `redis` or both.'),
    key_file: text().describe(
      'Ed25519 private key (PKCS #8 PEM) that signs checkpoints. Made at the first start if it is not there, with its public half in FILE.pub: copy that one to where you verify.',
    ),
    prompts: z
      .enum(['none', 'hash', 'encrypt'])
      .default('none')
      .describe('What is kept of prompts: nothing, a keyed hash (HMAC-SHA-256), or the text under AES-256-GCM. Default: none.'),
    prompt_key: z
      .string()
      .optional()
      .describe('32 bytes in hex or base64 for `prompts: hash` and `encrypt`, as a reference: "${env:AUDIT_PROMPT_KEY}" or "${file:secrets/audit.key}".'),
  })
  .describe('Append-only log of decisions in which a change, a gap or a cut can be found. Without this section there is none. Read at start, not at reload.');
