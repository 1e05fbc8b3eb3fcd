import { z } from 'zod';
import type { BudgetRecord, KeyRecord, LineRecord } from '../../core/directory.ts';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminRequest, AdminRoute } from '../route.ts';
import { toLimitRules } from '../schema/limit-rule.ts';
import { listOf, name, pageQuery, tenantName } from '../schema/scalar.ts';
import { lineCreate, linePatch, lineView, showLine } from '../schema/tenant.ts';
import { createRecord, listRecords, loadForWrite, loadRecord, removeRecord, updateRecord } from './records.ts';

const ofTenant = z.strictObject({ tenant: tenantName() });
const byName = z.strictObject({ tenant: tenantName(), line: name() });
/** Records that are looked at in one step. */
const PAGE = 200;
const idOfLine = ({ tenant, line }: z.output<typeof byName>): string => `${tenant}/${line}`;

function requireChannels(
  { deps }: AdminRequest<unknown, unknown, unknown>,
  channels: readonly string[] | undefined,
): void {
  const known = deps.channels?.();
  if (known === undefined) return;
  for (const [index, channel] of (channels ?? []).entries()) {
    if (known.includes(channel)) continue;
    const text = `"${channel}" is no channel of budgets.channels; there are: ${known.join(', ') || 'none'}.`;
    throw new AdminError('invalid_value', text, { param: `channels[${index}]` });
  }
}

const create = route({
  name: 'line.create',
  method: 'POST',
  path: '/admin/tenants/{tenant}/lines',
  summary: 'Make a business line of a tenant',
  rule: { kind: 'role', role: 'operator', tenant: 'path' },
  params: ofTenant,
  query: null,
  body: lineCreate,
  reply: { status: 201, schema: lineView, etag: true },
  run: async (request) => {
    const { body, params } = request;
    requireChannels(request, body.channels);
    const line = await createRecord(request, 'line', `${params.tenant}/${body.name}`, {
      tenant: params.tenant,
      name: body.name,
      costTier: body.cost_tier,
      limits: toLimitRules(body.limits),
      channels: body.channels,
    });
    const location = `/admin/tenants/${encodeURIComponent(line.tenant)}/lines/${line.name}`;
    return { body: showLine(line), version: line.version, location };
  },
});

const list = route({
  name: 'line.list',
  method: 'GET',
  path: '/admin/tenants/{tenant}/lines',
  summary: 'List the business lines of a tenant, in order of name',
  rule: { kind: 'role', role: 'viewer', tenant: 'path' },
  params: ofTenant,
  query: z.strictObject(pageQuery()),
  body: null,
  reply: { status: 200, schema: listOf(lineView) },
  run: (request) => listRecords(request, 'line', request.params.tenant, (all) => all.map(showLine)),
});

const get = route({
  name: 'line.get',
  method: 'GET',
  path: '/admin/tenants/{tenant}/lines/{line}',
  summary: 'One business line',
  rule: { kind: 'role', role: 'viewer', tenant: 'path' },
  params: byName,
  query: null,
  body: null,
  reply: { status: 200, schema: lineView, etag: true },
  run: async (request) => {
    const line = await loadRecord(request, 'line', idOfLine(request.params));
    return { body: showLine(line), version: line.version };
  },
});

const patch = route({
  name: 'line.update',
  method: 'PATCH',
  path: '/admin/tenants/{tenant}/lines/{line}',
  summary: 'Change a business line',
  description: 'What is left out stays; lists are replaced whole.',
  rule: { kind: 'role', role: 'operator', tenant: 'path' },
  params: byName,
  query: null,
  body: linePatch,
  ifMatch: 'required',
  reply: { status: 200, schema: lineView, etag: true },
  run: async (request) => {
    const { body } = request;
    requireChannels(request, body.channels);
    const line = await loadForWrite(request, 'line', idOfLine(request.params));
    const written = await updateRecord(request, line, {
      costTier: body.cost_tier ?? line.costTier,
      limits: body.limits === undefined ? line.limits : toLimitRules(body.limits),
      channels: body.channels ?? line.channels,
    });
    return { body: showLine(written), version: written.version };
  },
});

const remove = route({
  name: 'line.delete',
  method: 'DELETE',
  path: '/admin/tenants/{tenant}/lines/{line}',
  summary: 'Delete a business line',
  description:
    'Refused with 409 while a key or a budget is of it: without the line its limits and cost tier would be gone.',
  rule: { kind: 'role', role: 'admin', tenant: 'path' },
  params: byName,
  query: null,
  body: null,
  ifMatch: 'required',
  reply: {
    status: 200,
    schema: z.object({ object: z.literal('line'), tenant: z.string(), name: z.string(), deleted: z.literal(true) }),
  },
  run: async (request) => {
    const line = await loadForWrite(request, 'line', idOfLine(request.params));
    await requireUnused(request, line);
    await removeRecord(request, line);
    return { body: { object: 'line', tenant: line.tenant, name: line.name, deleted: true } };
  },
});

/** Throws 409 while something is of the line. */
async function requireUnused({ deps }: AdminRequest<unknown, unknown, unknown>, line: LineRecord): Promise<void> {
  const { tenant, name } = line;
  for (const kind of ['key', 'budget'] as const) {
    let after: string | null = null;
    for (;;) {
      const page: readonly (KeyRecord | BudgetRecord)[] = await deps.directory.list(kind, {
        after,
        count: PAGE,
        tenant,
      });
      const found = page.find((record) => record.businessLine === name);
      if (found !== undefined)
        throw new AdminError('conflict', `The ${kind} ${found.id} is still of this business line.`);
      if (page.length < PAGE) break;
      after = page.at(-1)?.id ?? null;
    }
  }
}

export const lineRoutes: readonly AdminRoute[] = [create, list, get, patch, remove];
