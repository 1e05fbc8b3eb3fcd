import { z } from 'zod';
import type { RecordOf } from '../../core/ports/directory-store.ts';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminReply, AdminRequest, AdminRoute } from '../route.ts';
import { keyCreate, keyPatch, keyRotate, keyView, keyWithSecret, showKey } from '../schema/key.ts';
import { toLimitRules } from '../schema/limit-rule.ts';
import { keyId, listOf, pageQuery, tenantQuery } from '../schema/scalar.ts';
import {
  createRecord,
  listRecords,
  loadForWrite,
  loadRecord,
  removeRecord,
  requireLine,
  updateRecord,
} from './records.ts';
import { newId, newSecret } from './secret.ts';

type Asked = AdminRequest<unknown, unknown, unknown>;

const byId = z.strictObject({ id: keyId() });

const reply = (request: Asked, key: RecordOf<'key'>, secret?: string): AdminReply => ({
  body: { ...showKey(key, request.deps.time()), ...(secret === undefined ? {} : { secret }) },
  version: key.version,
});

/** A time to come, in Unix milliseconds. */
function expiry(text: string | null, now: number): number | null {
  if (text === null) return null;
  const at = Date.parse(text);
  if (at > now) return at;
  throw new AdminError('invalid_value', 'expires_at must be in the future; revoke a key to end it now.', {
    param: 'expires_at',
  });
}

const create = route({
  name: 'key.create',
  method: 'POST',
  path: '/admin/keys',
  summary: 'Make a key',
  description:
    'The secret is in this answer and nowhere else: only its SHA-256 is kept. A repetition does not tell it again.',
  rule: { kind: 'role', role: 'operator', tenant: 'body' },
  params: null,
  query: null,
  body: keyCreate,
  reply: { status: 201, schema: keyWithSecret, secret: 'secret', etag: true },
  run: async (request) => {
    const { body, deps } = request;
    const expiresAt = expiry(body.expires_at, deps.time());
    await requireLine(request, body.tenant, body.business_line);
    const { secret, sha256, hint } = newSecret();
    const id = newId('key');
    const key = await createRecord(request, 'key', id, {
      id,
      name: body.name,
      sha256,
      hint,
      tenant: body.tenant,
      subject: body.subject ?? body.name,
      businessLine: body.business_line,
      models: body.models,
      scopes: body.scopes,
      tags: body.tags,
      limits: toLimitRules(body.limits),
      expiresAt,
      revokedAt: null,
      previous: null,
    });
    return { ...reply(request, key, secret), location: `/admin/keys/${id}` };
  },
});

const list = route({
  name: 'key.list',
  method: 'GET',
  path: '/admin/keys',
  summary: 'List keys, in order of id',
  rule: { kind: 'role', role: 'viewer', tenant: 'query' },
  params: null,
  query: z.strictObject({ tenant: tenantQuery(), ...pageQuery() }),
  body: null,
  reply: { status: 200, schema: listOf(keyView) },
  run: (request) =>
    listRecords(request, 'key', request.tenant, (all) => all.map((key) => showKey(key, request.deps.time()))),
});

const get = route({
  name: 'key.get',
  method: 'GET',
  path: '/admin/keys/{id}',
  summary: 'One key',
  rule: { kind: 'role', role: 'viewer', tenant: 'record' },
  params: byId,
  query: null,
  body: null,
  reply: { status: 200, schema: keyView, etag: true },
  run: async (request) => reply(request, await loadRecord(request, 'key', request.params.id)),
});

const patch = route({
  name: 'key.update',
  method: 'PATCH',
  path: '/admin/keys/{id}',
  summary: 'Change a key',
  description: 'What is left out stays; lists are replaced whole. The tenant cannot be changed.',
  rule: { kind: 'role', role: 'operator', tenant: 'record' },
  params: byId,
  query: null,
  body: keyPatch,
  ifMatch: 'required',
  reply: { status: 200, schema: keyView, etag: true },
  run: async (request) => {
    const { body, deps, params } = request;
    const key = await loadForWrite(request, 'key', params.id);
    await requireLine(request, key.tenant, body.business_line);
    const written = await updateRecord(request, key, {
      name: body.name ?? key.name,
      subject: body.subject ?? key.subject,
      businessLine: body.business_line === undefined ? key.businessLine : body.business_line,
      models: body.models ?? key.models,
      scopes: body.scopes ?? key.scopes,
      tags: body.tags ?? key.tags,
      limits: body.limits === undefined ? key.limits : toLimitRules(body.limits),
      expiresAt: body.expires_at === undefined ? key.expiresAt : expiry(body.expires_at, deps.time()),
    });
    return reply(request, written);
  },
});

const rotate = route({
  name: 'key.rotate',
  method: 'POST',
  path: '/admin/keys/{id}/rotate',
  summary: 'Give a key a new secret',
  description: 'The old secret opens for `grace_seconds` more. An even older one ends at once.',
  rule: { kind: 'role', role: 'operator', tenant: 'record' },
  params: byId,
  query: null,
  body: keyRotate,
  ifMatch: 'optional',
  reply: { status: 200, schema: keyWithSecret, secret: 'secret', etag: true },
  run: async (request) => {
    const key = await loadForWrite(request, 'key', request.params.id);
    if (key.revokedAt !== null) throw new AdminError('conflict', 'This key is revoked: make a new one.');
    const { secret, sha256, hint } = newSecret();
    const grace = request.body.grace_seconds * 1000;
    const previous = grace === 0 ? null : { sha256: key.sha256, until: request.deps.time() + grace };
    return reply(request, await updateRecord(request, key, { sha256, hint, previous }), secret);
  },
});

const REVOKE_TRIES = 5;

const revoke = route({
  name: 'key.revoke',
  method: 'POST',
  path: '/admin/keys/{id}/revoke',
  summary: 'End a key now',
  description: 'Both its secrets stop opening. The record stays; a revoked key cannot come back.',
  rule: { kind: 'role', role: 'operator', tenant: 'record' },
  params: byId,
  query: null,
  body: null,
  ifMatch: 'optional',
  reply: { status: 200, schema: keyView, etag: true },
  run: async (request) => {
    // Whoever writes at the same time must not keep a leaked key alive: unless a version was named, go on until it is done.
    for (let tries = 1; ; tries += 1) {
      const key = await loadForWrite(request, 'key', request.params.id);
      if (key.revokedAt !== null) return reply(request, key);
      try {
        return reply(request, await updateRecord(request, key, { revokedAt: request.deps.time(), previous: null }));
      } catch (error) {
        const raced = error instanceof AdminError && error.code === 'precondition_failed';
        if (!raced || Array.isArray(request.ifMatch) || tries === REVOKE_TRIES) throw error;
      }
    }
  },
});

const remove = route({
  name: 'key.delete',
  method: 'DELETE',
  path: '/admin/keys/{id}',
  summary: 'Delete a key and all that is known of it',
  rule: { kind: 'role', role: 'admin', tenant: 'record' },
  params: byId,
  query: null,
  body: null,
  ifMatch: 'required',
  reply: { status: 200, schema: z.object({ object: z.literal('key'), id: z.string(), deleted: z.literal(true) }) },
  run: async (request) => {
    const key = await loadForWrite(request, 'key', request.params.id);
    await removeRecord(request, key);
    return { body: { object: 'key', id: key.id, deleted: true } };
  },
});

export const keyRoutes: readonly AdminRoute[] = [create, list, get, patch, rotate, revoke, remove];
