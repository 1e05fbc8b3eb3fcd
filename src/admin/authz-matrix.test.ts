import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKit, SECRETS, START } from './admin-kit.test.ts';
import { roleCovers } from './access/caller.ts';
import { isWrite } from './route.ts';
import type { AdminRoute } from './route.ts';
import { readRouteTable } from './route-table.ts';

const routeTable = readRouteTable();
/** Files of the dashboard: the same for everybody, whoever asks. */
const isFile = ({ path }: Pick<AdminRoute, 'path'>): boolean => path === '/ui' || path.startsWith('/ui/');

const KEY = 'key_00000000000000000001';
const BUDGET = 'budget_00000000000000000001';

/** A request about `acme` for each route, by its name. */
const SAMPLES: Readonly<Record<string, { readonly url: string; readonly body?: unknown }>> = {
  'key.create': { url: '/admin/keys', body: { name: 'k', tenant: 'acme' } },
  'key.list': { url: '/admin/keys?tenant=acme' },
  'key.get': { url: `/admin/keys/${KEY}` },
  'key.update': { url: `/admin/keys/${KEY}`, body: { name: 'n' } },
  'key.rotate': { url: `/admin/keys/${KEY}/rotate`, body: {} },
  'key.revoke': { url: `/admin/keys/${KEY}/revoke` },
  'key.delete': { url: `/admin/keys/${KEY}` },
  'tenant.create': { url: '/admin/tenants', body: { name: 'fresh' } },
  'tenant.list': { url: '/admin/tenants' },
  'tenant.get': { url: '/admin/tenants/acme' },
  'tenant.update': { url: '/admin/tenants/acme', body: { tier: 'gold' } },
  'tenant.delete': { url: '/admin/tenants/acme' },
  'line.create': { url: '/admin/tenants/acme/lines', body: { name: 'l2' } },
  'line.list': { url: '/admin/tenants/acme/lines' },
  'line.get': { url: '/admin/tenants/acme/lines/l1' },
  'line.update': { url: '/admin/tenants/acme/lines/l1', body: { cost_tier: 'core' } },
  'line.delete': { url: '/admin/tenants/acme/lines/l1' },
  'budget.create': { url: '/admin/budgets', body: { tenant: 'acme', period: 'day', amount_micros: 5 } },
  'budget.list': { url: '/admin/budgets?tenant=acme' },
  'budget.get': { url: `/admin/budgets/${BUDGET}` },
  'budget.update': { url: `/admin/budgets/${BUDGET}`, body: { amount_micros: 7 } },
  'budget.delete': { url: `/admin/budgets/${BUDGET}` },
  'deployment.list': { url: '/admin/deployments' },
  'deployment.get': { url: '/admin/deployments/m@b' },
  'deployment.update': { url: '/admin/deployments/m@b', body: { stage: 'retired' } },
  'rollout.start': {
    url: '/admin/rollouts',
    body: { config: 'version: 1', percent: 5, for_seconds: 60, dry_run: true },
  },
  'rollout.read': { url: '/admin/rollouts/current' },
  'rollout.abort': { url: '/admin/rollouts/current/abort' },
  'rollout.promote': { url: '/admin/rollouts/current/promote' },
  'spend.read': { url: '/admin/spend?tenant=acme&from=2026-11-30&to=2026-12-01' },
  'spend.top': { url: '/admin/top?tenant=acme&day=2026-11-30' },
  'quota.read': { url: '/admin/quotas?tenant=acme' },
  'audit.read': { url: '/admin/audit?tenant=acme' },
  'config.read': { url: '/admin/config' },
  'routing.read': { url: '/admin/routes' },
  'routing.explain': { url: '/admin/explain?tenant=acme&model=m' },
  'status.read': { url: '/admin/status' },
  'live.read': { url: '/admin/live' },
  'request.read': { url: '/admin/requests/of-acme' },
  'docs.page': { url: '/admin/docs' },
  'docs.openapi': { url: '/admin/openapi.json' },
};
/** Who may, written down a second time: the tests below follow the table, and a rule that is loosened must not pass by that. */
const RULES: Readonly<Record<string, string>> = {
  'key.create': 'operator by body',
  'key.list': 'viewer by query',
  'key.get': 'viewer by record',
  'key.update': 'operator by record',
  'key.rotate': 'operator by record',
  'key.revoke': 'operator by record',
  'key.delete': 'admin by record',
  'tenant.create': 'admin by none',
  'tenant.list': 'viewer by record',
  'tenant.get': 'viewer by path',
  'tenant.update': 'admin by none',
  'tenant.delete': 'admin by none',
  'line.create': 'operator by path',
  'line.list': 'viewer by path',
  'line.get': 'viewer by path',
  'line.update': 'operator by path',
  'line.delete': 'admin by path',
  'budget.create': 'operator by body',
  'budget.list': 'viewer by query',
  'budget.get': 'viewer by record',
  'budget.update': 'operator by record',
  'budget.delete': 'admin by record',
  'deployment.list': 'viewer by none',
  'deployment.get': 'viewer by none',
  'deployment.update': 'operator by none',
  'rollout.start': 'admin by none',
  'rollout.read': 'viewer by none',
  'rollout.abort': 'operator by none',
  'rollout.promote': 'admin by none',
  'spend.read': 'viewer by query',
  'spend.top': 'viewer by query',
  'quota.read': 'viewer by query',
  'audit.read': 'admin by query',
  'config.read': 'viewer by none',
  'routing.read': 'viewer by none',
  'routing.explain': 'viewer by none',
  'request.read': 'viewer by record',
  'status.read': 'viewer by any',
  'live.read': 'viewer by none',
  'docs.page': 'public',
  'docs.openapi': 'public',
};
/** Nothing else may be read without a token. */
const PUBLIC = ['docs.page', 'docs.openapi'];
/** What belongs to `acme`: in no answer to anybody else. */
const CANARIES = /acme|l1|canary|0000000001/;

async function world() {
  const kit = adminKit({ badTries: 1_000_000 });
  const { directory } = kit;
  for (const name of ['acme', 'globex'])
    await directory.put('tenant', name, { name, tier: 'standard', limits: [], subjectLimits: [] }, 0);
  await directory.put(
    'line',
    'acme/l1',
    { tenant: 'acme', name: 'l1', costTier: 'standard', limits: [], channels: [] },
    0,
  );
  const key = {
    id: KEY,
    name: 'canary',
    sha256: 'a'.repeat(64),
    hint: 'sk-tl-canary',
    tenant: 'acme',
    subject: 'bob',
    businessLine: null,
    models: ['*'],
    scopes: [],
    tags: {},
    limits: [],
    expiresAt: null,
    revokedAt: null,
    previous: { sha256: 'b'.repeat(64), until: START + 1000 },
  };
  await directory.put('key', KEY, key, 0);
  const rollout = {
    id: 'current' as const,
    rollout: 'rollout_00000000000000000003',
    percent: 5,
    startAt: START,
    endAt: START + 60_000,
    base: 'b',
    digest: 'd',
    text: 'version: 1',
    criteria: { errorIncrease: 0, p95Ratio: 1, minSamples: 10 },
    by: 'ops',
    status: 'running' as const,
    reason: null,
  };
  await directory.put('rollout', 'current', rollout, 0);
  await directory.put(
    'budget',
    BUDGET,
    {
      id: BUDGET,
      tenant: 'acme',
      businessLine: null,
      period: 'day',
      amount: 1 as never,
      currency: 'USD',
      alertsAt: [],
    },
    0,
  );
  return kit;
}

function ruleText(rule: AdminRoute['rule']): string {
  return rule.kind === 'public' ? rule.kind : `${rule.role} by ${rule.tenant}`;
}

function sample(route: AdminRoute) {
  const found = isFile(route) ? { url: route.path } : SAMPLES[route.name];
  assert.ok(found !== undefined, `${route.name} has no sample here`);
  const headers: Record<string, string> = route.ifMatch === undefined ? {} : { 'if-match': '*' };
  return { ...found, headers };
}

async function ask(route: AdminRoute, as: string | null, kit?: Awaited<ReturnType<typeof world>>) {
  const { url, body, headers } = sample(route);
  const { call } = kit ?? (await world());
  return call(route.method, url, { as, headers, ...(body === undefined ? {} : { body }) });
}

function assertRefused(reply: Awaited<ReturnType<typeof ask>>, status: number, what: string): void {
  assert.equal(reply.status, status, `${what}: ${reply.text}`);
  const { error } = reply.json;
  assert.ok(error !== undefined, what);
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'], what);
  assert.equal(
    error.type,
    status === 401 ? 'authentication_error' : status === 403 ? 'permission_error' : 'invalid_request_error',
  );
  assert.doesNotMatch(reply.text, CANARIES, what);
  assert.match(String(reply.headers['x-request-id']), /^adm-[0-9a-f]{24}$/);
}

test('every route has a rule and a sample, and no two are the same', () => {
  for (const route of routeTable) {
    const { rule } = route;
    assert.ok(
      rule.kind === 'public' ? isFile(route) || PUBLIC.includes(route.name) : roleCovers(rule.role, 'viewer'),
      route.name,
    );
    if (isWrite(route)) assert.ok(rule.kind === 'role' && rule.role !== 'viewer', `${route.name} writes`);
    if (rule.kind === 'role' && ['path', 'query', 'body'].includes(rule.tenant)) {
      const shape = { path: route.params, query: route.query, body: route.body }[rule.tenant as 'path'];
      assert.ok(shape !== null && 'tenant' in shape.shape, `${route.name} has no tenant in its ${rule.tenant}`);
    }
    // A tenant in the path that the rule does not look at would be open to every tenant.
    if (route.path.includes('{tenant}'))
      assert.ok(rule.kind === 'role' && ['path', 'none'].includes(rule.tenant), route.name);
  }
  const records = routeTable.filter((route) => !isFile(route));
  assert.deepEqual(Object.keys(SAMPLES).toSorted(), records.map(({ name }) => name).toSorted());
  assert.deepEqual(Object.fromEntries(records.map(({ name, rule }) => [name, ruleText(rule)])), RULES);
  assert.equal(new Set(routeTable.map(({ method, path }) => `${method} ${path}`)).size, routeTable.length);
});

for (const route of routeTable) {
  const { rule, name } = route;
  if (rule.kind === 'public') {
    test(`${name}: open to all`, async () => assert.equal((await ask(route, null)).status, 200));
    continue;
  }
  test(`${name}: who may`, async () => {
    // What is refused changes nothing: one world will do for all of it, and for reading.
    const shared = await world();
    const kit = async () => (isWrite(route) ? world() : shared);
    for (const bad of [
      null,
      'Bearer',
      'Bearer wrong-token-of-some-length-0123',
      `Basic ${SECRETS['admin']}`,
      'Bearer jwt',
    ])
      assertRefused(await ask(route, bad, shared), 401, `${name} with ${bad}`);
    assertRefused(await ask(route, 'Bearer an-expired-token-of-an-admin-0123', shared), 401, `${name} expired`);
    assertRefused(await ask(route, 'Bearer jwt.ok.acme.chat', shared), 403, `${name} without a scope`);
    for (const role of ['viewer', 'operator', 'admin'] as const) {
      const enough = roleCovers(role, rule.role);
      for (const as of [role, `Bearer jwt.ok.platform.admin:${role}`]) {
        const reply = await ask(route, as, enough ? await kit() : shared);
        if (!enough) assertRefused(reply, 403, `${name} as ${as}`);
        else assert.ok(reply.status < 300 || name === 'tenant.delete', `${name} as ${as}: ${reply.text}`);
      }
      for (const as of [`${role}@acme`, `Bearer jwt.ok.acme.admin:${role}`]) {
        const reply = await ask(route, as, enough ? await kit() : shared);
        if (enough && rule.tenant !== 'none') assert.ok(reply.status < 300, `${name} as ${as}: ${reply.text}`);
        else assertRefused(reply, 403, `${name} as ${as}`);
      }
    }
  });

  test(`${name}: nothing of another tenant`, async () => {
    for (const as of ['admin@globex', 'Bearer jwt.ok.globex.admin:admin']) {
      const kit = await world();
      const before = JSON.stringify([...kit.directory.all]);
      const reply = await ask(route, as, kit);
      if (rule.tenant === 'any') {
        assert.equal(reply.status, 200, reply.text);
        assert.doesNotMatch(reply.text, CANARIES);
      } else if (rule.tenant !== 'record') assertRefused(reply, 403, `${name} as ${as}`);
      else if (name === 'tenant.list') assert.doesNotMatch(reply.text, CANARIES);
      else {
        assertRefused(reply, 404, `${name} as ${as}`);
        const absent = sample(route).url.replace('000001', '000002').replace('of-acme', 'of-nobody');
        const { body, headers } = sample(route);
        const other = await kit.call(route.method, absent, { as, headers, ...(body === undefined ? {} : { body }) });
        assert.equal(other.text, reply.text, 'a record of another tenant cannot be told from none');
      }
      assert.equal(JSON.stringify([...kit.directory.all]), before, `${name} as ${as} changed something`);
    }
  });

  test(`${name}: no tenant named means the own one`, async () => {
    if (rule.tenant !== 'query') return;
    const { call } = await world();
    const url = sample(route).url.replace(/tenant=acme&?/, '');
    const reply = await call(route.method, url, { as: 'admin@globex' });
    assert.equal(reply.status, 200, reply.text);
    assert.doesNotMatch(reply.text, CANARIES);
  });

  test(`${name}: an Idempotency-Key of another caller opens nothing`, async () => {
    if (!isWrite(route)) return;
    const kit = await world();
    const { url, body, headers } = sample(route);
    const send = (as: string) =>
      kit.call(route.method, url, {
        as,
        headers: { ...headers, 'idempotency-key': 'same' },
        ...(body === undefined ? {} : { body }),
      });
    await send('admin');
    assert.equal((await send('viewer')).status, 403);
    const foreign = await send('admin@globex');
    assert.ok([403, 404].includes(foreign.status), foreign.text);
    assert.equal(foreign.headers['idempotency-replayed'], undefined);
    assert.doesNotMatch(foreign.text, CANARIES);
  });
}

test('files of the dashboard are public, static, only read, and made without any data', async () => {
  const files = routeTable.filter(isFile);
  assert.ok(files.length > 30);
  const asking = { caller: null, tenant: null, params: null, query: null, body: null, ifMatch: null };
  for (const { rule, method, reply, run, path } of files) {
    assert.deepEqual([rule.kind, method, reply.static], ['public', 'GET', true], path);
    // Nothing to lean on: what needed a store, the configuration or the caller would throw.
    const { text } = await run({ ...asking, deps: null } as never);
    assert.ok(text !== undefined && text.content.length > 0, path);
  }
});

test('what is not known is told to callers only', async () => {
  const { call } = await world();
  assertRefused(await call('GET', '/admin/nothing', { as: null }), 401, 'unknown path');
  for (const url of ['/ui/nothing.js', '/ui/../admin/keys', '/ui/%2e%2e/admin/keys', '/ui/browser/main.ts', '/UI'])
    assertRefused(await call('GET', url, { as: null }), 401, url);
  assert.equal((await call('GET', '/admin/nothing', { as: 'viewer@acme' })).status, 404);
  const wrong = await call('PUT', '/admin/keys', { body: {} });
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers['allow'], 'POST, GET');
  assert.ok((await call('HEAD', '/admin/keys')).status >= 404);
});

test('an identity provider that is out of reach is 503, a fault of ours 500, and neither tells why', async () => {
  const { call, logged } = await world();
  const down = await call('GET', '/admin/keys', { as: 'Bearer jwt.down.acme.admin:admin' });
  assert.equal(down.status, 503);
  assert.equal(down.json.error?.code, 'identity_provider_unavailable');
  const broken = await call('GET', '/admin/keys', { as: 'Bearer jwt.broken.acme.admin:admin' });
  assert.equal(broken.status, 500);
  assert.doesNotMatch(down.text + broken.text, CANARIES);
  assert.ok(logged.length >= 2);
});

test('without oidc in the configuration no JWT comes in, whatever its scope', async () => {
  const { call } = adminKit({ access: () => ({ tokens: [], oidc: null }) });
  assert.equal((await call('GET', '/admin/keys', { as: 'Bearer jwt.ok.acme.admin:admin' })).status, 401);
});

test('where the configuration has no admin section any more nobody comes in, and nothing is shown', async () => {
  let access: { tokens: readonly []; oidc: null } | null = { tokens: [], oidc: null };
  const { call } = adminKit({ access: () => access });
  assert.equal((await call('GET', '/admin/docs')).status, 200);
  access = null;
  for (const [method, path] of [
    ['GET', '/admin/keys'],
    ['POST', '/admin/keys'],
    ['GET', '/admin/docs'],
    ['GET', '/nowhere'],
  ] as const) {
    const { status, json } = await call(method, path);
    assert.equal(`${status} ${json.error?.code}`, '503 admin_closed', `${method} ${path}`);
    assert.match(String(json.error?.message), /no admin section.*restart/);
  }
});
