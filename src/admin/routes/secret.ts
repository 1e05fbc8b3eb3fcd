import { createHash, randomBytes } from 'node:crypto';

/** A new secret of a client: 256 random bits behind a prefix that secret scanners can know. */
export function newSecret(): { readonly secret: string; readonly sha256: string; readonly hint: string } {
  const secret = `sk-tl-${randomBytes(32).toString('base64url')}`;
  return {
    secret,
    sha256: createHash('sha256').update(secret).digest('hex'),
    hint: `${secret.slice(0, 10)}…${secret.slice(-4)}`,
  };
}

/** `key_<20 hex>`. */
export const newId = (kind: 'key' | 'budget' | 'rollout'): string => `${kind}_${randomBytes(10).toString('hex')}`;
