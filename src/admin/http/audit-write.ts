import { createHash } from 'node:crypto';
import type { Json } from '../../core/json.ts';
import type { Caller } from '../access/caller.ts';
import type { AdminDeps } from '../admin-deps.ts';
import type { AdminRequest, AdminRoute } from '../route.ts';
import { AdminError } from './admin-error.ts';
import type { Answer } from './answer.ts';
import type { RawRequest } from './read-request.ts';

/** Bytes of a change that go into the audit as they are; of larger ones, their SHA-256. */
const MAX_CHANGE = 8192;

/**
 * Puts a write into the audit: who, from where, what, to what end. Bodies hold no secrets: keys are made here, never sent.
 * `request` null: it was refused before it was understood.
 */
export function auditWrite({
  route,
  raw,
  caller,
  request,
  deps,
  outcome,
}: {
  readonly route: AdminRoute;
  readonly raw: RawRequest;
  readonly caller: Caller;
  readonly request: AdminRequest<unknown, unknown, unknown> | null;
  readonly deps: AdminDeps;
  readonly outcome: Answer | AdminError;
}): void {
  const failed = outcome instanceof AdminError;
  const body = failed ? {} : (outcome.body as { readonly [key: string]: Json });
  const facts: Record<string, Json> = {
    action: route.name,
    outcome: failed ? 'refused' : 'done',
    status: outcome.status,
    code: failed ? outcome.code : null,
    repeated: !failed && outcome.headers['idempotency-replayed'] === 'true',
    caller: caller.name,
    via: caller.via,
    role: caller.role,
    caller_tenant: caller.tenant,
    source: raw.address,
    request_id: raw.id,
    tenant: tenantOf(request, body) ?? caller.tenant,
    target: target(request, body),
    version: body['version'] ?? null,
    change: request?.body === undefined ? null : change((route.audited ?? whole)(request.body)),
  };
  deps.audit.log.append({ kind: 'admin', time: deps.time(), facts });
}

const whole = (body: unknown): unknown => body;

type Body = { readonly [key: string]: Json };

/** The tenant that it was about, where that is known; else it is put down to the caller's. */
function tenantOf(request: AdminRequest<unknown, unknown, unknown> | null, body: Body): Json {
  const named = body['tenant'] ?? (body['object'] === 'tenant' ? body['name'] : undefined);
  const params = request?.params as { readonly tenant?: string } | undefined;
  return named ?? params?.tenant ?? request?.tenant ?? null;
}

function target(request: AdminRequest<unknown, unknown, unknown> | null, body: Body): Json {
  return (request?.params as Json | undefined) ?? body['id'] ?? body['name'] ?? null;
}

function change(body: unknown): Json {
  const text = JSON.stringify(body);
  if (Buffer.byteLength(text) <= MAX_CHANGE) return JSON.parse(text) as Json;
  return { sha256: createHash('sha256').update(text).digest('hex'), bytes: Buffer.byteLength(text) };
}
