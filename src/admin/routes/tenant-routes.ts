import { z } from 'zod';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminRequest, AdminRoute } from '../route.ts';
import { toLimitRules } from '../schema/limit-rule.ts';
import { listOf, pageQuery, tenantName } from '../schema/scalar.ts';
import { showTenant, tenantCreate, tenantPatch, tenantView } from '../schema/tenant.ts';
import { createRecord, listRecords, loadForWrite, loadRecord, removeRecord, updateRecord } from './records.ts';

const byName = z.strictObject({ tenant: tenantName() });

// A tenant's own limits and tier are what others grant it: only callers of all tenants write them.
const create = route({
  name: 'tenant.create',
  method: 'POST',
  path: '/admin/tenants',
  summary: 'Make a tenant',
  rule: { kind: 'role', role: 'admin', tenant: 'none' },
  params: null,
  query: null,
  body: tenantCreate,
  reply: { status: 201, schema: tenantView, etag: true },
  run: async (request) => {
    const { name, tier, limits, subject_limits } = request.body;
    const tenant = await createRecord(request, 'tenant', name, {
      name,
      tier,
      limits: toLimitRules(limits),
      subjectLimits: toLimitRules(subject_limits),
    });
    return {
      body: showTenant(tenant),
      version: tenant.version,
      location: `/admin/tenants/${encodeURIComponent(name)}`,
    };
  },
});

const list = route({
  name: 'tenant.list',
  method: 'GET',
  path: '/admin/tenants',
  summary: 'List tenants, in order of name',
  rule: { kind: 'role', role: 'viewer', tenant: 'record' },
  params: null,
  query: z.strictObject(pageQuery()),
  body: null,
  reply: { status: 200, schema: listOf(tenantView) },
  run: (request) => listRecords(request, 'tenant', request.tenant, (all) => all.map(showTenant)),
});

const get = route({
  name: 'tenant.get',
  method: 'GET',
  path: '/admin/tenants/{tenant}',
  summary: 'One tenant',
  rule: { kind: 'role', role: 'viewer', tenant: 'path' },
  params: byName,
  query: null,
  body: null,
  reply: { status: 200, schema: tenantView, etag: true },
  run: async (request) => {
    const tenant = await loadRecord(request, 'tenant', request.params.tenant);
    return { body: showTenant(tenant), version: tenant.version };
  },
});

const patch = route({
  name: 'tenant.update',
  method: 'PATCH',
  path: '/admin/tenants/{tenant}',
  summary: 'Change a tenant',
  description: 'What is left out stays; lists are replaced whole.',
  rule: { kind: 'role', role: 'admin', tenant: 'none' },
  params: byName,
  query: null,
  body: tenantPatch,
  ifMatch: 'required',
  reply: { status: 200, schema: tenantView, etag: true },
  run: async (request) => {
    const { body } = request;
    const tenant = await loadForWrite(request, 'tenant', request.params.tenant);
    const written = await updateRecord(request, tenant, {
      tier: body.tier ?? tenant.tier,
      limits: body.limits === undefined ? tenant.limits : toLimitRules(body.limits),
      subjectLimits: body.subject_limits === undefined ? tenant.subjectLimits : toLimitRules(body.subject_limits),
    });
    return { body: showTenant(written), version: written.version };
  },
});

const remove = route({
  name: 'tenant.delete',
  method: 'DELETE',
  path: '/admin/tenants/{tenant}',
  summary: 'Delete a tenant that has nothing any more',
  description: 'Refused with 409 while it has keys, lines or budgets. What it spent stays in the ledger.',
  rule: { kind: 'role', role: 'admin', tenant: 'none' },
  params: byName,
  query: null,
  body: null,
  ifMatch: 'required',
  reply: { status: 200, schema: z.object({ object: z.literal('tenant'), name: z.string(), deleted: z.literal(true) }) },
  run: async (request) => {
    const tenant = await loadForWrite(request, 'tenant', request.params.tenant);
    await requireEmpty(request, tenant.name);
    await removeRecord(request, tenant);
    return { body: { object: 'tenant', name: tenant.name, deleted: true } };
  },
});

async function requireEmpty({ deps }: AdminRequest<unknown, unknown, unknown>, tenant: string): Promise<void> {
  for (const kind of ['key', 'line', 'budget'] as const)
    if ((await deps.directory.list(kind, { after: null, count: 1, tenant })).length > 0)
      throw new AdminError('conflict', `This tenant still has a ${kind}.`);
}

export const tenantRoutes: readonly AdminRoute[] = [create, list, get, patch, remove];
