import type { Clock } from '../../core/ports/clock.ts';
import type { Principal } from '../../core/principal.ts';
import type { Issuer, Tenant } from '../../core/snapshot.ts';
import { checkClaims, quotaLines, readGrant, typeHolds } from './claims.ts';
import type { Claims, Grant } from './claims.ts';
import { parseObject, splitJws } from './jws-form.ts';
import type { KeySource } from './key-cache.ts';
import { refused } from './verdict.ts';
import type { Verdict } from './verdict.ts';
import { verifyJws } from './verify-jws.ts';

/** An issuer and where its keys come from. */
export interface TrustedIssuer {
  readonly issuer: Issuer;
  readonly keys: KeySource;
}

export interface VerifyJwtOptions {
  readonly issuers: readonly TrustedIssuer[];
  readonly tenantOf: (name: string) => Tenant;
  readonly clockSkewMs: number;
  readonly clock: Clock;
}

function principalOf(grant: Grant, claims: Claims, credential: string, tenant: Tenant): Principal {
  return {
    subject: grant.subject,
    tenant: grant.tenant,
    tier: grant.tier ?? tenant.tier,
    businessLine: grant.businessLine ?? tenant.businessLine,
    scopes: new Set(grant.scopes),
    models: grant.models,
    credential,
    limits: quotaLines(grant.subject, grant.quotaDaily),
    keyId: null,
    tags: {},
    claims,
  };
}

/** The issuer that a token claims to be from and that may sign as it is signed. Two of one name differ by algorithm. */
function issuerOf(issuers: readonly TrustedIssuer[], claims: Claims, alg: unknown): TrustedIssuer | undefined {
  const named = issuers.filter(({ issuer }) => issuer.issuer === claims['iss']);
  return named.find(({ issuer }) => issuer.algorithms.some((name) => name === alg));
}

/**
 * Makes a verifier of JWTs. Form first, then issuer, `typ`, signature, times and audience, and only then what the token
 * grants. Never rejects.
 */
export function createJwtVerifier(options: VerifyJwtOptions): (token: string) => Promise<Verdict> {
  const { issuers, tenantOf, clockSkewMs, clock } = options;
  return async function verifyJwt(token) {
    const form = splitJws(token);
    const claims = form === null ? null : parseObject(form.payload);
    if (form === null || claims === null) return refused('not a JWT in canonical form');
    const trusted = issuerOf(issuers, claims, form.header['alg']);
    if (trusted === undefined) return refused('unknown issuer or algorithm');
    const { issuer, keys } = trusted;
    if (!typeHolds(form.header['typ'], issuer.typ)) return refused('typ');

    // Noted with the look-up, not afterwards: a rotation during the check must not pass the old key's verdict off as new.
    let epoch = -1;
    const signature = await verifyJws({
      token,
      form,
      allowed: issuer.algorithms,
      find: async (kid, algorithm) => {
        const found = await keys.find(kid, algorithm);
        if (found.kind === 'key') epoch = found.epoch;
        return found;
      },
    });
    if (signature === 'unavailable') return { kind: 'unavailable' };
    if (signature === 'invalid') return refused('signature or key');

    const checked = checkClaims(claims, issuer, { now: clock.time(), skewMs: clockSkewMs });
    if (checked === 'invalid') return refused('claims');
    const grant = readGrant(claims, issuer);
    if (grant === null) return refused('claims of the grant');
    if (checked === 'expired') return refused('expired', 'expired');
    return {
      kind: 'accepted',
      principal: principalOf(grant, claims, issuer.issuer, tenantOf(grant.tenant)),
      expiresAt: Number(claims['exp']) * 1000 + clockSkewMs,
      keys: { source: keys, epoch },
    };
  };
}
