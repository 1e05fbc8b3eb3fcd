import type { IncomingHttpHeaders } from 'node:http';
import { createAuthenticate, credentialHash, opened } from '../access/authenticate.ts';
import type { AdminAccess, Identify } from '../access/authenticate.ts';
import { callerKey, roleCovers } from '../access/caller.ts';
import type { Caller } from '../access/caller.ts';
import { createRateLimit, sourceOf } from '../access/rate-limit.ts';
import type { Rule } from '../route.ts';
import { AdminError } from './admin-error.ts';

export interface GuardOptions {
  /** null = nobody. */
  readonly access: () => AdminAccess | null;
  readonly identify: Identify | null;
  readonly time: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Bad tries a minute of one source, or of one token from anywhere. */
  readonly badTries: number;
  /** Requests a minute of one caller. */
  readonly requests: number;
}

/** Files of a page for each request that it could make. */
const FILES = 10;

/** Who stands at the door. */
export interface Visitor {
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * The door: gives the caller, or throws. It stands before the body is read. `rule` null: a path that is not known, which only
 * callers may learn. A source with too many bad tries waits, whatever it shows: else a guess could be told from a hit.
 */
export function createGuard(options: GuardOptions): (visitor: Visitor, rule: Rule | null) => Promise<Caller | null> {
  const { badTries, requests, now } = options;
  const authenticate = createAuthenticate(options);
  const bad = createRateLimit({ limit: badTries, now });
  const used = createRateLimit({ limit: requests, now });
  const files = createRateLimit({ limit: requests * FILES, now });

  return async ({ address, headers }, rule) => {
    opened(options.access());
    if (rule?.kind === 'public') {
      const [limit, key] = [rule.files === true ? files : used, `public ${sourceOf(address)}`];
      refuseWhen(limit.waitMs(key));
      limit.count(key);
      return null;
    }
    const hash = credentialHash(headers);
    const keys = [`source ${sourceOf(address)}`, ...(hash === null ? [] : [`token ${hash.toString('base64')}`])];
    refuseWhen(Math.max(...keys.map(bad.waitMs)));
    const caller = await authenticate(headers).catch((error: unknown) => {
      if (error instanceof AdminError && error.status < 500) keys.forEach(bad.count);
      throw error;
    });
    refuseWhen(used.waitMs(callerKey(caller)));
    used.count(callerKey(caller));
    if (rule !== null) requireRole(caller, rule);
    return caller;
  };
}

function requireRole(caller: Caller, rule: Extract<Rule, { kind: 'role' }>): void {
  if (!roleCovers(caller.role, rule.role)) throw new AdminError('role_required', `This needs the role ${rule.role}.`);
  if (rule.tenant === 'none' && caller.tenant !== null)
    throw new AdminError('tenant_not_allowed', 'This is for callers of all tenants only.');
}

function refuseWhen(waitMs: number): void {
  if (waitMs > 0)
    throw new AdminError('rate_limit_exceeded', 'Too many tries: wait a little.', {
      headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
    });
}
