import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiKey, Tenant } from '../../core/snapshot.ts';
import { quotaLines } from './claims.ts';
import { refused } from './verdict.ts';
import type { Verdict } from './verdict.ts';

export interface VerifyApiKeyOptions {
  readonly apiKeys: readonly ApiKey[];
  readonly tenantOf: (name: string) => Tenant;
}

/**
 * Makes a verifier of API keys. Only hashes are known and compared, all of them in constant time and without an early end,
 * so neither the key nor its place in the list shows in the time taken.
 */
export function createApiKeyVerifier({ apiKeys, tenantOf }: VerifyApiKeyOptions): (token: string) => Verdict {
  const known = apiKeys.map((key) => ({ key, digest: Buffer.from(key.sha256, 'hex') }));
  return function verifyApiKey(token) {
    const digest = createHash('sha256').update(token).digest();
    let match: ApiKey | null = null;
    for (const entry of known) {
      if (entry.digest.length === digest.length && timingSafeEqual(entry.digest, digest)) match = entry.key;
    }
    if (match === null) return refused('unknown API key');
    const tenant = tenantOf(match.tenant);
    const principal = {
      subject: match.subject,
      tenant: match.tenant,
      tier: tenant.tier,
      businessLine: match.businessLine ?? tenant.businessLine,
      scopes: new Set(match.scopes),
      models: match.models,
      credential: match.name,
      limits: quotaLines(match.subject, match.quotaDaily),
      keyId: null,
      tags: {},
      claims: Object.freeze(Object.create(null) as Record<string, unknown>),
    };
    return { kind: 'accepted', principal, expiresAt: Number.POSITIVE_INFINITY, keys: null };
  };
}
