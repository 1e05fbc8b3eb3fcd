import { createHash } from 'node:crypto';
import type { Auth, Issuer } from '../../core/snapshot.ts';
import type { FileReader } from '../references.ts';
import type { ConfigDocument } from '../schema/document.ts';

type IssuerEntry = ConfigDocument['auth']['issuers'][number];

export function compileAuth({ auth }: ConfigDocument, files: FileReader): Auth {
  return {
    issuers: auth.issuers.map((entry) => compileIssuer(entry, files)),
    apiKeys: auth.api_keys.map((entry) => ({
      name: entry.name,
      sha256:
        entry.sha256 ??
        createHash('sha256')
          .update(entry.key ?? '')
          .digest('hex'),
      tenant: entry.tenant,
      subject: entry.subject ?? entry.name,
      models: entry.models,
      scopes: entry.scopes,
      businessLine: entry.business_line ?? null,
      quotaDaily: entry.quota_daily ?? null,
    })),
    clockSkewMs: auth.clock_skew,
    cache: { entries: auth.cache.entries, ttlMs: auth.cache.ttl },
  };
}

function compileIssuer(entry: IssuerEntry, files: FileReader): Issuer {
  const { claims } = entry;
  return {
    issuer: entry.issuer,
    audience: entry.audience,
    algorithms: entry.algorithms,
    typ: entry.typ ?? null,
    keys: compileKeys(entry, files),
    claims: {
      tenant: claims.tenant,
      models: claims.models,
      tier: claims.tier,
      businessLine: claims.business_line,
      scope: claims.scope,
      quotaDaily: claims.quota_daily,
    },
  };
}

function compileKeys({ secret, exec, jwks }: IssuerEntry, files: FileReader): Issuer['keys'] {
  if (secret !== undefined) return { kind: 'secret', secret: new TextEncoder().encode(secret) };
  if (exec !== undefined)
    return { kind: 'exec', command: exec.command, refreshMs: exec.refresh, timeoutMs: exec.timeout };
  if (jwks?.file !== undefined) return { kind: 'jwks-file', path: files.resolve(jwks.file) };
  if (jwks?.url === undefined) throw new Error('unchecked issuer without keys');
  return {
    kind: 'jwks-url',
    url: jwks.url,
    refreshMs: jwks.refresh,
    cooldownMs: jwks.cooldown,
    maxStaleMs: jwks.max_stale,
    timeoutMs: jwks.timeout,
  };
}
