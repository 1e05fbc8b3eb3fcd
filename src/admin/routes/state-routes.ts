import { z } from 'zod';
import { limitName } from '../../core/limit.ts';
import type { LimitState } from '../../core/limit.ts';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import { auditEntry, configView, quotaView, tracesView } from '../schema/report.ts';
import {
  keyId,
  label,
  listOf,
  modelName,
  name,
  pageQuery,
  showTime,
  tenantName,
  tenantQuery,
  time,
} from '../schema/scalar.ts';
import { pageOf, readCursor } from './cursor.ts';
import { redactConfig } from './redact-config.ts';

/** Counters that one call to the store reads. */
const AT_ONCE = 200;

const quotas = route({
  name: 'quota.read',
  method: 'GET',
  path: '/admin/quotas',
  summary: 'Where the limits of a tenant stand, on all levels',
  description:
    'Those of the tenant, of every business line and every model; of a key and a subject where they are named. A key brings its own subject and business line.',
  rule: { kind: 'role', role: 'viewer', tenant: 'query' },
  params: null,
  query: z.strictObject({
    tenant: tenantName().optional().describe("Default: the caller's tenant. Callers of all tenants must name one."),
    subject: label(256).optional().describe("With this subject's own limits."),
    model: modelName().optional().describe('Of limits for models only those for this one. Default: all.'),
    business_line: name().optional().describe('Of limits for business lines only those of this one. Default: all.'),
    key: keyId().optional().describe("With this key's own limits: its id."),
  }),
  body: null,
  reply: { status: 200, schema: quotaView },
  run: async ({ query, tenant, deps }) => {
    if (tenant === null) throw new AdminError('missing_parameter', 'tenant is missing.', { param: 'tenant' });
    const key = query.key === undefined ? null : await deps.directory.get('key', query.key);
    if (query.key !== undefined && key?.tenant !== tenant)
      throw new AdminError('not_found', 'There is no such key.', { param: 'key' });
    const lines = await deps.limitLines({
      tenant,
      subject: query.subject ?? key?.subject ?? null,
      model: query.model ?? null,
      businessLine: query.business_line ?? key?.businessLine ?? null,
      key,
    });
    const states: LimitState[] = [];
    for (let at = 0; at < lines.length; at += AT_ONCE)
      states.push(...(await deps.quota.peek(tenant, lines.slice(at, at + AT_ONCE))));
    const data = states.map(({ line, remaining, resetMs }) => ({
      name: limitName(line),
      scope: line.scope,
      unit: line.unit,
      window: line.window,
      limit: line.limit,
      remaining,
      reset_at: showTime(deps.time() + resetMs),
    }));
    return { body: { object: 'quota', tenant, data } };
  },
});

const audit = route({
  name: 'audit.read',
  method: 'GET',
  path: '/admin/audit',
  summary: 'The audit, newest first',
  description: 'A caller of one tenant sees the entries that name that tenant.',
  rule: { kind: 'role', role: 'admin', tenant: 'query' },
  params: null,
  query: z.strictObject({
    tenant: tenantQuery(),
    kind: z.enum(['request', 'admin', 'system']).optional(),
    from: time().optional().describe('Included.'),
    to: time().optional().describe('Excluded.'),
    ...pageQuery(),
  }),
  body: null,
  reply: { status: 200, schema: listOf(auditEntry) },
  run: async ({ query, tenant, deps }) => {
    const found = await deps.audit.reader.read({
      tenant,
      kind: query.kind ?? null,
      from: query.from === undefined ? null : Date.parse(query.from),
      to: query.to === undefined ? null : Date.parse(query.to),
      after: readCursor(query.cursor),
      count: query.limit + 1,
    });
    const page = pageOf(found, query.limit, ({ id }) => id);
    const data = page.items
      .filter(({ entry }) => tenant === null || entry.facts['tenant'] === tenant)
      .map(({ id, entry }) => ({ id, kind: entry.kind, at: showTime(entry.time), facts: entry.facts }));
    return { body: { object: 'list', data, next_cursor: page.next_cursor } };
  },
});

const config = route({
  name: 'config.read',
  method: 'GET',
  path: '/admin/config',
  summary: 'The configuration in force, without secrets',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: configView },
  run: async ({ deps }) => ({ body: { object: 'config', config: redactConfig(deps.config()) } }),
});

const requests = route({
  name: 'request.read',
  method: 'GET',
  path: '/admin/requests/{id}',
  summary: 'The story of a request',
  rule: { kind: 'role', role: 'viewer', tenant: 'record' },
  params: z.strictObject({
    id: z
      .string()
      .regex(/^[\x21-\x7e]{1,128}$/, 'must be the id that the client saw')
      .describe('The `x-request-id` that the client saw.'),
  }),
  query: null,
  body: null,
  reply: { status: 200, schema: tracesView },
  run: async ({ params, tenant, deps }) => {
    const traces = await deps.traces.get(params.id);
    const data = traces.filter((trace) => tenant === null || trace['tenant'] === tenant);
    if (data.length === 0) throw new AdminError('not_found', 'There is no such request.');
    return { body: { object: 'request', id: params.id, data } };
  },
});

export const stateRoutes: readonly AdminRoute[] = [quotas, audit, config, requests];
