import { createHash } from 'node:crypto';
import type { KeyRecord } from '../../core/directory.ts';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { KeyLookup } from '../../core/ports/key-lookup.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Principal } from '../../core/principal.ts';
import type { Tenant } from '../../core/snapshot.ts';
import { refused, type Verdict } from './verdict.ts';

/** What keys of the directory look like. Whatever else comes is never asked for. */
const FORM = /^sk-tl-[A-Za-z0-9_-]{20,128}$/;

const NO_CLAIMS = Object.freeze(Object.create(null) as Record<string, unknown>);
const UNKNOWN = refused('unknown API key');

export interface VerifyStoredKeyOptions {
  readonly keys: KeyLookup;
  readonly tenantOf: (name: string) => Tenant;
  readonly clock: Clock;
}

export function isStoredKey(token: string): boolean {
  return FORM.test(token);
}

function principalOf(key: KeyRecord, tenant: Tenant): Principal {
  return {
    subject: key.subject,
    tenant: key.tenant,
    tier: tenant.tier,
    businessLine: key.businessLine ?? tenant.businessLine,
    scopes: new Set(key.scopes),
    models: key.models,
    credential: key.id,
    limits: [],
    limitRules: key.limits,
    keyId: key.id,
    tags: key.tags,
    claims: NO_CLAIMS,
  };
}

/**
 * Makes a verifier of keys of the directory (`sk-tl-…`). The secret that a rotation replaced opens until its grace is over.
 * Every call looks at the record anew, so that a revoked key is refused as soon as the directory says so. A store that is gone
 * is `unavailable`.
 */
export function createStoredKeyVerifier({
  keys,
  tenantOf,
  clock,
}: VerifyStoredKeyOptions): (token: string) => MaybePromise<Verdict> {
  function judge(key: KeyRecord | null, sha256: string): Verdict {
    const now = clock.time();
    if (key === null) return UNKNOWN;
    const current = key.sha256 === sha256;
    if (!current && key.previous?.sha256 !== sha256) return UNKNOWN;
    if (key.revokedAt !== null) return refused('revoked API key');
    if (!current && now >= (key.previous?.until ?? 0)) return refused('replaced API key');
    if (key.expiresAt !== null && now >= key.expiresAt) return refused('expired API key', 'expired');
    const expiresAt = Math.min(key.expiresAt ?? Infinity, current ? Infinity : (key.previous?.until ?? 0));
    return { kind: 'accepted', principal: principalOf(key, tenantOf(key.tenant)), expiresAt, keys: null };
  }

  function gone(reason: unknown): Verdict {
    if (reason instanceof StoreUnavailable) return { kind: 'unavailable' };
    throw reason;
  }

  return function verifyStoredKey(token) {
    const sha256 = createHash('sha256').update(token).digest('hex');
    try {
      const found = keys.find(sha256);
      return isPromise(found) ? found.then((key) => judge(key, sha256), gone) : judge(found, sha256);
    } catch (reason) {
      return gone(reason);
    }
  };
}
