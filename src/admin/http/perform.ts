import { createHash } from 'node:crypto';
import type { Json } from '../../core/json.ts';
import type { StoredAnswer } from '../../core/ports/idempotency-store.ts';
import { callerKey } from '../access/caller.ts';
import type { Caller } from '../access/caller.ts';
import type { AdminDeps } from '../admin-deps.ts';
import { isWrite } from '../route.ts';
import type { AdminReply, AdminRequest, AdminRoute } from '../route.ts';
import { AdminError } from './admin-error.ts';
import type { Answer } from './answer.ts';
import { auditWrite } from './audit-write.ts';
import { readRequest } from './read-request.ts';
import type { RawRequest } from './read-request.ts';
import { toAdminError } from './to-admin-error.ts';

const KEEP_MS = 24 * 3_600_000;
/** Longer than any write takes: after it, a write that nobody ended may be tried again. */
const LEASE_MS = 60_000;

/** Does what a route is for. A write is done once for each `Idempotency-Key`, and is in the audit however it ends. */
export async function perform(route: AdminRoute, raw: RawRequest, caller: Caller, deps: AdminDeps): Promise<Answer> {
  if (!isWrite(route)) return answerOf(route, await route.run(readRequest(route, raw, caller, deps)));
  let request: AdminRequest<unknown, unknown, unknown> | null = null;
  try {
    const key = idempotencyKey(raw, caller);
    request = readRequest(route, raw, caller, deps);
    if (deps.audit.log.state() === 'failing')
      throw new AdminError('audit_unavailable', 'Nothing can be changed while the audit cannot be written.');
    const answer = await once(route, request, key, fingerprintOf(raw));
    auditWrite({ route, raw, caller, request, deps, outcome: answer });
    return answer;
  } catch (reason) {
    const error = toAdminError(reason);
    auditWrite({ route, raw, caller, request, deps, outcome: error });
    throw error;
  }
}

/** Runs the route unless the same was done before. */
async function once(
  route: AdminRoute,
  request: AdminRequest<unknown, unknown, unknown>,
  key: string,
  fingerprint: string,
): Promise<Answer> {
  const { idempotency, log } = request.deps;
  const verdict = await idempotency.begin({ key, fingerprint, leaseMs: LEASE_MS });
  switch (verdict.kind) {
    case 'done':
      return { ...verdict.answer, headers: { ...verdict.answer.headers, 'idempotency-replayed': 'true' } };
    case 'other':
      throw new AdminError('idempotency_key_reused', 'This Idempotency-Key was used for something else.', {
        param: 'Idempotency-Key',
      });
    case 'running':
      throw new AdminError('idempotency_key_running', 'The request with this Idempotency-Key is still running.', {
        param: 'Idempotency-Key',
        headers: { 'retry-after': '1' },
      });
    case 'new':
      break;
  }
  let reply: AdminReply;
  try {
    reply = await route.run(request);
  } catch (error) {
    // A store that did not answer may have written all the same: the key stays claimed until its lease is over.
    if (toAdminError(error).status < 500)
      await idempotency.release({ key, claim: verdict.claim }).catch((cause: unknown) => warn(log, cause));
    throw error;
  }
  const answer = answerOf(route, reply);
  await idempotency
    .finish({ key, fingerprint, answer: withoutSecret(route, answer), keepMs: KEEP_MS })
    .catch((cause: unknown) => warn(log, cause));
  return answer;
}

function warn(log: AdminDeps['log'], cause: unknown): void {
  log.warn('the outcome of an admin write could not be kept for repetitions', {
    error: cause instanceof Error ? cause : String(cause),
  });
}

function answerOf(route: AdminRoute, { body, version, location, text }: AdminReply): Answer {
  if (text !== undefined)
    return { status: route.reply.status, headers: { 'content-type': text.type, ...text.headers }, body: text.content };
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };
  if (version !== undefined) headers['etag'] = `"${version}"`;
  if (location !== undefined) headers['location'] = location;
  // The schema is the fence: a field that it does not name stays inside.
  return { status: route.reply.status, headers, body: route.reply.schema.parse(body) as Json };
}

function withoutSecret({ reply }: AdminRoute, answer: Answer): StoredAnswer {
  const { status, headers, body } = answer;
  return { status, headers, body: reply.secret === undefined ? body : { ...(body as object), [reply.secret]: null } };
}

/** Keys of different callers never meet. */
function idempotencyKey({ headers }: RawRequest, caller: Caller): string {
  const key = headers['idempotency-key'];
  if (typeof key !== 'string')
    throw new AdminError(
      'missing_parameter',
      'Send an Idempotency-Key with every write: any text of your own, such as a UUID.',
      {
        param: 'Idempotency-Key',
      },
    );
  if (!/^[\x21-\x7e]{1,128}$/.test(key))
    throw new AdminError('invalid_value', 'Idempotency-Key must be 1 to 128 visible ASCII characters.', {
      param: 'Idempotency-Key',
    });
  return createHash('sha256')
    .update(JSON.stringify([callerKey(caller), key]))
    .digest('hex');
}

function fingerprintOf({ method, url, headers, body }: RawRequest): string {
  const hash = createHash('sha256').update(JSON.stringify([method, url, headers['if-match'] ?? null]));
  return hash.update(body ?? '').digest('hex');
}
