import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { renderOpenApi } from './docs/openapi.ts';
import { adminKit } from './admin-kit.test.ts';
import { apiRoutes } from './route-table.ts';

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly responses: object };
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: object;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

const text = renderOpenApi(apiRoutes);
const document = JSON.parse(text) as Document;
const operations = Object.entries(document.paths).flatMap(([at, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ at, method, operation })),
);

/** Compiles a schema of the document where its references lead. */
const ajv = new Ajv2020({ strict: true, allErrors: true, validateFormats: false, allowUnionTypes: true });
const HERE = 'https://admin.example/openapi.json';
ajv.addVocabulary(['components']);
ajv.addSchema({ $id: HERE, components: document.components });
const compile = (schema: object) =>
  ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('#/components/', `${HERE}#/components/`)) as object);

function nodes(node: unknown): readonly object[] {
  if (typeof node !== 'object' || node === null) return [];
  return [node, ...Object.values(node).flatMap(nodes)];
}

test('the published document is up to date', () => {
  const published = fs.readFileSync(path.resolve(import.meta.dirname, '../../schema/openapi.json'), 'utf8');
  assert.equal(published, text, 'run: node test/render/generated.ts');
});

test('every reference leads somewhere', () => {
  const references = nodes(document).flatMap((node) => ('$ref' in node ? [String(node.$ref)] : []));
  assert.ok(references.length > 100);
  for (const reference of references) {
    const [first, ...rest] = reference.split('/');
    assert.equal(first, '#', reference);
    let target: unknown = document;
    for (const part of rest) target = (target as Readonly<Record<string, unknown>> | undefined)?.[part];
    assert.ok(target !== undefined, reference);
  }
});

test('operations and parameters are as OpenAPI 3.1 wants them', () => {
  assert.equal(document.openapi, '3.1.0');
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.deepEqual(ids.toSorted(), apiRoutes.map(({ name }) => name).toSorted());
  assert.equal(new Set(ids).size, ids.length);
  for (const { at, method, operation } of operations) {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(
      inPath.map(({ name }) => name).toSorted(),
      [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name)).toSorted(),
      `${method} ${at}`,
    );
    for (const parameter of inPath) assert.equal(parameter.required, true);
    const places = operation.parameters.map(({ name, in: place }) => `${place} ${name}`);
    assert.equal(new Set(places).size, places.length);
    assert.equal('requestBody' in operation && method === 'get', false);
    assert.ok(operation.summary.length > 0);
    assert.ok(Object.keys(operation.responses).some((status) => status.startsWith('2')));
  }
});

test('every schema is JSON Schema 2020-12', () => {
  for (const schema of Object.values(document.components.schemas)) compile(schema);
  for (const { operation } of operations) {
    for (const { schema } of operation.parameters) compile(schema);
    for (const { content = {} } of Object.values(operation.responses))
      for (const { schema } of Object.values(content)) compile(schema);
  }
});

test('what the schemas say of a body is what the server does with it', async () => {
  const { call } = adminKit();
  const schema = document.paths['/admin/keys']?.['post']?.requestBody?.content['application/json']?.schema;
  const fits = compile(schema ?? {});
  const rule = { unit: 'tokens', window: { kind: 'sliding', seconds: 60 }, limit: 5 };
  for (const body of [
    { name: 'k', tenant: 'acme' },
    { name: 'k', tenant: 'acme', limits: [rule], tags: { a: 'b' }, models: ['gpt-*'], expires_at: null },
    { name: 'k', tenant: 'acme', x: 1 },
    { name: '', tenant: 'acme' },
    { name: 'k', tenant: 'a/b' },
    { name: 'k' },
    { name: 'k', tenant: 'acme', limits: [{ ...rule, window: { kind: 'concurrent', seconds: 1 } }] },
    { name: 'k', tenant: 'acme', scopes: ['admin:viewer'] },
    { name: 'k', tenant: 'acme', tags: { 'a b': 'c' } },
    [],
  ]) {
    const { status } = await call('POST', '/admin/keys', { body });
    assert.equal(status === 201, fits(body), JSON.stringify(body));
  }
});

test('what goes out fits what the document says', async () => {
  const { call } = adminKit();
  const rule = { unit: 'spend', window: { kind: 'calendar', unit: 'month', zone: 'Europe/Berlin' }, limit: 5 };
  const seen = new Set<string>();
  const check = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', template: string, url: string, body?: object) => {
    const reply = await call(method, url, { headers: { 'if-match': '*' }, ...(body === undefined ? {} : { body }) });
    assert.ok(reply.status < 300, reply.text);
    const operation = document.paths[template]?.[method.toLowerCase()];
    const schema = operation?.responses[reply.status]?.content?.['application/json']?.schema;
    assert.ok(schema !== undefined, `${method} ${template}: ${reply.status} is not in the document`);
    const fits = compile(schema);
    assert.ok(fits(reply.json), `${method} ${template}: ${JSON.stringify(fits.errors)}`);
    seen.add(operation?.operationId ?? '');
    return reply.json;
  };
  await check('POST', '/admin/tenants', '/admin/tenants', { name: 'acme', limits: [rule] });
  await check('GET', '/admin/tenants', '/admin/tenants');
  await check('GET', '/admin/tenants/{tenant}', '/admin/tenants/acme');
  await check('PATCH', '/admin/tenants/{tenant}', '/admin/tenants/acme', { tier: 'gold' });
  const lines = '/admin/tenants/{tenant}/lines';
  await check('POST', lines, '/admin/tenants/acme/lines', { name: 'ads' });
  await check('GET', lines, '/admin/tenants/acme/lines');
  await check('GET', `${lines}/{line}`, '/admin/tenants/acme/lines/ads');
  await check('PATCH', `${lines}/{line}`, '/admin/tenants/acme/lines/ads', { cost_tier: 'core' });
  const key = await check('POST', '/admin/keys', '/admin/keys', {
    name: 'k',
    tenant: 'acme',
    business_line: 'ads',
    limits: [rule],
  });
  await check('GET', '/admin/keys', '/admin/keys');
  await check('GET', '/admin/keys/{id}', `/admin/keys/${key.id}`);
  await check('GET', '/admin/deployments', '/admin/deployments');
  await check('GET', '/admin/deployments/{id}', '/admin/deployments/m@b');
  await check('PATCH', '/admin/deployments/{id}', '/admin/deployments/m@b', { stage: 'retired' });
  const rollout = { config: 'version: 1', percent: 5, for_seconds: 60 };
  await check('POST', '/admin/rollouts', '/admin/rollouts', rollout);
  await check('POST', '/admin/rollouts/current/promote', '/admin/rollouts/current/promote');
  await check('GET', '/admin/rollouts/current', '/admin/rollouts/current');
  await check('POST', '/admin/rollouts/current/abort', '/admin/rollouts/current/abort');
  await check('PATCH', '/admin/keys/{id}', `/admin/keys/${key.id}`, { expires_at: '2030-01-01T00:00:00Z' });
  await check('POST', '/admin/keys/{id}/rotate', `/admin/keys/${key.id}/rotate`, { grace_seconds: 60 });
  await check('POST', '/admin/keys/{id}/revoke', `/admin/keys/${key.id}/revoke`);
  await check('DELETE', '/admin/keys/{id}', `/admin/keys/${key.id}`);
  const budget = await check('POST', '/admin/budgets', '/admin/budgets', {
    tenant: 'acme',
    period: 'day',
    amount_micros: 1,
  });
  await check('GET', '/admin/budgets', '/admin/budgets');
  await check('GET', '/admin/budgets/{id}', `/admin/budgets/${budget.id}`);
  await check('PATCH', '/admin/budgets/{id}', `/admin/budgets/${budget.id}`, { amount_micros: 2 });
  await check('DELETE', '/admin/budgets/{id}', `/admin/budgets/${budget.id}`);
  await check('DELETE', `${lines}/{line}`, '/admin/tenants/acme/lines/ads');
  await check('DELETE', '/admin/tenants/{tenant}', '/admin/tenants/acme');
  await check('GET', '/admin/spend', '/admin/spend?from=2026-11-30&to=2026-12-01&by=model,tenant');
  await check('GET', '/admin/top', '/admin/top?day=2026-11-30');
  await check('GET', '/admin/quotas', '/admin/quotas?tenant=acme&subject=bob');
  await check('GET', '/admin/audit', '/admin/audit');
  await check('GET', '/admin/config', '/admin/config');
  await check('GET', '/admin/routes', '/admin/routes');
  await check('GET', '/admin/status', '/admin/status');
  await check('GET', '/admin/live', '/admin/live');
  await check('GET', '/admin/explain', '/admin/explain?tenant=acme&model=m&stream=true');
  await check('GET', '/admin/requests/{id}', '/admin/requests/shared');
  assert.deepEqual([...seen].toSorted(), apiRoutes.map(({ name }) => name).toSorted(), 'every route was asked');
});
