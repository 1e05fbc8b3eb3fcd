import { z } from 'zod';
import { microUnits } from '../../core/money.ts';
import { route } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import { listOf, pageQuery, tenantQuery } from '../schema/scalar.ts';
import { budgetCreate, budgetPatch, budgetStateView, budgetView, showBudget, showStanding } from '../schema/tenant.ts';
import {
  createRecord,
  listRecords,
  loadForWrite,
  loadRecord,
  removeRecord,
  requireLine,
  updateRecord,
} from './records.ts';
import { newId } from './secret.ts';

const byId = z.strictObject({ id: z.string().regex(/^budget_[0-9a-f]{20}$/, 'must be the id of a budget') });

const create = route({
  name: 'budget.create',
  method: 'POST',
  path: '/admin/budgets',
  summary: 'Make a budget',
  rule: { kind: 'role', role: 'operator', tenant: 'body' },
  params: null,
  query: null,
  body: budgetCreate,
  reply: { status: 201, schema: budgetView, etag: true },
  run: async (request) => {
    const { body } = request;
    await requireLine(request, body.tenant, body.business_line);
    const id = newId('budget');
    const budget = await createRecord(request, 'budget', id, {
      id,
      tenant: body.tenant,
      businessLine: body.business_line,
      period: body.period,
      amount: microUnits(body.amount_micros),
      currency: body.currency,
      alertsAt: body.alerts_at,
    });
    return { body: showBudget(budget), version: budget.version, location: `/admin/budgets/${id}` };
  },
});

const list = route({
  name: 'budget.list',
  method: 'GET',
  path: '/admin/budgets',
  summary: 'List budgets and where they stand, in order of id',
  rule: { kind: 'role', role: 'viewer', tenant: 'query' },
  params: null,
  query: z.strictObject({ tenant: tenantQuery(), ...pageQuery() }),
  body: null,
  reply: { status: 200, schema: listOf(budgetStateView) },
  run: (request) =>
    listRecords(request, 'budget', request.tenant, async (budgets) => {
      const standings = await request.deps.budgetStandings(budgets);
      return budgets.map((budget) => showStanding(budget, standings));
    }),
});

const get = route({
  name: 'budget.get',
  method: 'GET',
  path: '/admin/budgets/{id}',
  summary: 'One budget and where it stands',
  rule: { kind: 'role', role: 'viewer', tenant: 'record' },
  params: byId,
  query: null,
  body: null,
  reply: { status: 200, schema: budgetStateView, etag: true },
  run: async (request) => {
    const budget = await loadRecord(request, 'budget', request.params.id);
    const standings = await request.deps.budgetStandings([budget]);
    return { body: showStanding(budget, standings), version: budget.version };
  },
});

const patch = route({
  name: 'budget.update',
  method: 'PATCH',
  path: '/admin/budgets/{id}',
  summary: 'Change a budget',
  description: 'What is left out stays. Tenant and line cannot be changed.',
  rule: { kind: 'role', role: 'operator', tenant: 'record' },
  params: byId,
  query: null,
  body: budgetPatch,
  ifMatch: 'required',
  reply: { status: 200, schema: budgetView, etag: true },
  run: async (request) => {
    const { body } = request;
    const budget = await loadForWrite(request, 'budget', request.params.id);
    const written = await updateRecord(request, budget, {
      period: body.period ?? budget.period,
      amount: body.amount_micros === undefined ? budget.amount : microUnits(body.amount_micros),
      currency: body.currency ?? budget.currency,
      alertsAt: body.alerts_at ?? budget.alertsAt,
    });
    return { body: showBudget(written), version: written.version };
  },
});

const remove = route({
  name: 'budget.delete',
  method: 'DELETE',
  path: '/admin/budgets/{id}',
  summary: 'Delete a budget',
  rule: { kind: 'role', role: 'admin', tenant: 'record' },
  params: byId,
  query: null,
  body: null,
  ifMatch: 'required',
  reply: { status: 200, schema: z.object({ object: z.literal('budget'), id: z.string(), deleted: z.literal(true) }) },
  run: async (request) => {
    const budget = await loadForWrite(request, 'budget', request.params.id);
    await removeRecord(request, budget);
    return { body: { object: 'budget', id: budget.id, deleted: true } };
  },
});

export const budgetRoutes: readonly AdminRoute[] = [create, list, get, patch, remove];
