import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { Json } from '../core/json.ts';
import { canonicalJson } from '../lib/jcs/canonical-json.ts';

/** What the log keeps of prompts. */
export type PromptRule = 'none' | 'hash' | 'encrypt';

/** What goes into the facts of a record for a request's texts; null when nothing does. Never throws. */
export type AuditPrompt = (texts: readonly string[]) => Json;

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
/** Binds what is encrypted to its use. */
const PURPOSE = Buffer.from('tokenlat audit prompt v1');
/** UTF-8 bytes of the texts that are kept; a record has room for them in base64. */
const MAX_KEPT = 512 * 1024;
const LONE_SURROGATE = /[\ud800-\udfff]/gu;

/**
 * Makes the rule. `hash`: HMAC-SHA-256, so that who has the key can tell whether a known text was sent, and nobody else can
 * try texts. `encrypt`: AES-256-GCM with an IV of its own for each record, and the HMAC. `key`: 32 bytes; needed but for `none`.
 */
export function createAuditPrompt({
  rule,
  key,
}: {
  readonly rule: PromptRule;
  readonly key: Uint8Array | null;
}): AuditPrompt {
  if (rule === 'none') return () => null;
  if (key === null) throw new TypeError(`prompts: ${rule} needs a key`);
  const keys = deriveKeys(key);
  return (texts) => {
    const whole = Buffer.from(canonicalJson(texts.map((text) => text.replaceAll(LONE_SURROGATE, '\ufffd'))));
    const hmac = createHmac('sha256', keys.hash).update(whole).digest('hex');
    const told = { key: keys.id, bytes: whole.length, hmac };
    if (rule === 'hash') return { form: 'hmac-sha256', ...told };
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, keys.encrypt, iv).setAAD(PURPOSE);
    const kept = whole.subarray(0, MAX_KEPT);
    const data = Buffer.concat([cipher.update(kept), cipher.final(), cipher.getAuthTag()]);
    return {
      form: CIPHER,
      ...told,
      cut: kept.length < whole.length,
      iv: iv.toString('base64'),
      data: data.toString('base64'),
    };
  };
}

/** The texts of a record, as canonical JSON (whole unless `cut`). Throws for another key and for what was changed. */
export function decryptPrompt(sealed: Json, key: Uint8Array): string {
  const { form, iv, data } = (typeof sealed === 'object' && sealed !== null ? sealed : {}) as {
    readonly [key: string]: Json;
  };
  if (form !== CIPHER || typeof iv !== 'string' || typeof data !== 'string')
    throw new TypeError('this is no encrypted prompt');
  const bytes = Buffer.from(data, 'base64');
  const decipher = createDecipheriv(CIPHER, deriveKeys(key).encrypt, Buffer.from(iv, 'base64'), { authTagLength: 16 });
  decipher.setAAD(PURPOSE).setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
}

/** One key never does two jobs. */
function deriveKeys(key: Uint8Array): { readonly hash: Buffer; readonly encrypt: Buffer; readonly id: string } {
  if (key.length !== 32) throw new RangeError('a prompt key has 32 bytes');
  const derive = (use: string): Buffer =>
    Buffer.from(hkdfSync('sha256', key, new Uint8Array(), `tokenlat audit ${use}`, 32));
  return {
    hash: derive('prompt hash'),
    encrypt: derive('prompt encrypt'),
    id: derive('prompt key id').toString('hex').slice(0, 16),
  };
}
