import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../../core/error.ts';
import type { Admin, AdminRole, AdminToken } from '../../core/admin-settings.ts';
import { AdminError } from '../http/admin-error.ts';
import type { Caller } from './caller.ts';

/** Whom an identity provider's token names. Throws `GatewayError`. */
export type Identify = (
  headers: IncomingHttpHeaders,
) => Promise<{ readonly subject: string; readonly tenant: string; readonly scopes: ReadonlySet<string> }>;

/** Who may come in, as the configuration says now. */
export type AdminAccess = Pick<Admin, 'tokens' | 'oidc'>;

/** Throws `admin_closed` where the configuration has no admin API any more. */
export function opened(access: AdminAccess | null): AdminAccess {
  if (access === null)
    throw new AdminError('admin_closed', 'The configuration has no admin section any more. A restart frees this port.');
  return access;
}

const ROLES: readonly AdminRole[] = ['admin', 'operator', 'viewer'];
const BEARER = /^Bearer ([\x21-\x7e]{1,12000})$/i;

/** SHA-256 of the credential that a request shows, for counting bad tries; null when it shows none. */
export function credentialHash(headers: IncomingHttpHeaders): Buffer | null {
  const secret = BEARER.exec(headers.authorization ?? '')?.[1];
  return secret === undefined ? null : createHash('sha256').update(secret).digest();
}

/** Finds the caller of a request, or throws a 401, 403 or 503. */
export function createAuthenticate({
  access,
  identify,
  time,
}: {
  readonly access: () => AdminAccess | null;
  readonly identify: Identify | null;
  readonly time: () => number;
}): (headers: IncomingHttpHeaders) => Promise<Caller> {
  return async (headers) => {
    const hash = credentialHash(headers);
    if (hash === null)
      throw new AdminError('missing_credentials', 'Send "Authorization: Bearer" with an admin token.', {
        headers: { 'www-authenticate': 'Bearer realm="tokenlat-admin"' },
      });
    const { tokens, oidc } = opened(access());
    const token = findToken(tokens, hash);
    if (token !== null) {
      if (token.expiresAt !== null && token.expiresAt <= time())
        throw new AdminError('expired_credentials', 'This admin token has expired.');
      return { name: token.name, via: 'token', role: token.role, tenant: token.tenant };
    }
    if (oidc === null || identify === null) throw unknown();
    const who = await identify(headers).catch(refuse);
    const role = ROLES.find((name) => who.scopes.has(`admin:${name}`));
    if (role === undefined)
      throw new AdminError('role_required', 'This token has no scope for the admin API (admin:viewer and up).');
    const global = oidc.globalTenants.includes(who.tenant);
    return { name: who.subject, via: 'oidc', role, tenant: global ? null : who.tenant };
  };
}

/** Looks at every token whatever it finds: the time tells nothing. */
function findToken(tokens: readonly AdminToken[], hash: Buffer): AdminToken | null {
  let found: AdminToken | null = null;
  for (const token of tokens) if (timingSafeEqual(Buffer.from(token.sha256, 'hex'), hash)) found = token;
  return found;
}

function unknown(): AdminError {
  return new AdminError('invalid_credentials', 'This token does not open the admin API.', {
    headers: { 'www-authenticate': 'Bearer realm="tokenlat-admin", error="invalid_token"' },
  });
}

function refuse(reason: unknown): never {
  if (!(reason instanceof GatewayError)) throw reason;
  if (reason.status >= 500)
    throw new AdminError('identity_provider_unavailable', 'The identity provider cannot be asked right now.', {
      cause: reason,
    });
  if (reason.code === 'expired_credentials') throw new AdminError('expired_credentials', 'This token has expired.');
  throw unknown();
}
