import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKit, START } from './admin-kit.test.ts';

const HOURS = 'from=2026-11-30T10:00:00Z&to=2026-11-30T14:00:00Z&unit=hour';

test('pages of a list meet every record once, in order, whatever comes in between', async () => {
  const { call } = adminKit();
  for (let index = 0; index < 7; index += 1)
    await call('POST', '/admin/keys', { body: { name: `k${index}`, tenant: index % 2 === 0 ? 'acme' : 'globex' } });
  const walk = async (query: string, as = 'admin') => {
    const seen: string[] = [];
    let cursor: string | null | undefined = null;
    for (let pages = 0; pages < 10 && cursor !== undefined; pages += 1) {
      const next: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = await call('GET', `/admin/keys?limit=2${query}${next}`, { as });
      assert.equal(page.status, 200, page.text);
      assert.ok((page.json.data ?? []).length <= 2);
      seen.push(...(page.json.data ?? []).map(({ id }) => String(id)));
      cursor = page.json.next_cursor ?? undefined;
    }
    return seen;
  };
  const all = await walk('');
  assert.equal(new Set(all).size, 7);
  assert.deepEqual(all, all.toSorted());
  assert.equal((await walk('&tenant=acme')).length, 4);
  assert.equal((await walk('', 'viewer@globex')).length, 3);
  const exact = await call('GET', '/admin/keys?limit=7');
  assert.equal(exact.json.next_cursor, null);
});

test('a cursor says where to go on, not what may be seen', async () => {
  const { call } = adminKit();
  for (let index = 0; index < 3; index += 1) await call('POST', '/admin/keys', { body: { name: 'k', tenant: 'acme' } });
  const { json } = await call('GET', '/admin/keys?limit=1&tenant=acme');
  const foreign = await call('GET', `/admin/keys?cursor=${json.next_cursor}`, { as: 'viewer@globex' });
  assert.deepEqual(foreign.json.data, []);
  for (const cursor of ['%00', 'a', 'not-ours!', 'x'.repeat(3000), '']) {
    const reply = await call('GET', `/admin/keys?cursor=${cursor}`);
    assert.equal(reply.status, 400, cursor);
    assert.equal(reply.json.error?.param, 'cursor');
  }
});

test('parameters that are not known, or come twice, are refused', async () => {
  const { call } = adminKit();
  for (const [url, param] of [
    ['/admin/keys?tenat=acme', 'tenat'],
    ['/admin/keys?limit=1&limit=2', 'limit'],
    ['/admin/keys?limit=201', 'limit'],
    ['/admin/keys?limit=1.5', 'limit'],
    ['/admin/keys?tenant=acme&tenant=globex', 'tenant'],
    ['/admin/config?x=1', 'x'],
    ['/admin/quotas', 'tenant'],
    ['/admin/top?day=30.11.2026', 'day'],
    ['/admin/top?day=2026-02-30', 'day'],
    ['/admin/spend?from=2026-11-30&to=2026-12-01&by=subject', 'by'],
  ] as const) {
    const reply = await call('GET', url);
    assert.equal(reply.status, 400, url);
    assert.equal(reply.json.error?.param, param, url);
  }
});

test('spending: ranges that roll-ups can answer, and no others', async () => {
  const { call } = adminKit();
  for (const [query, param] of [
    ['from=2026-11-30T10:30:00Z&to=2026-11-30T14:00:00Z&unit=hour', 'from'],
    ['from=2026-11-30&to=2026-11-30', 'to'],
    ['from=2026-12-01&to=2026-11-30', 'to'],
    ['from=2026-11-01&to=2026-12-30&unit=hour', 'to'],
    ['from=2020-01-01&to=2026-01-01', 'to'],
    ['from=2026-11-30T10:00:01Z&to=2026-12-01', 'from'],
    ['to=2026-12-01', 'from'],
  ] as const) {
    const reply = await call('GET', `/admin/spend?${query}`);
    assert.equal(reply.status, 400, query);
    assert.equal(reply.json.error?.param, param, query);
  }
  assert.equal((await call('GET', `/admin/spend?${HOURS}`)).json.data?.length, 6);
});

test('spending: the day is one of the zone that was given', async () => {
  const asked: { from: number; to: number }[] = [];
  const base = adminKit();
  const { call } = adminKit({
    dayStart: (date) => Date.parse(`${date}T00:00:00+05:30`),
    spend: {
      spend: async ({ from, to }) => {
        asked.push({ from, to });
        return [];
      },
      top: async () => [],
      verify: async () => [],
    },
  });
  assert.equal((await call('GET', '/admin/spend?from=2026-11-30&to=2026-12-01')).status, 200);
  assert.deepEqual(asked, [{ from: Date.parse('2026-11-29T18:30:00Z'), to: Date.parse('2026-11-30T18:30:00Z') }]);
  await base.app.close();
});

test('spending as CSV: safe for spreadsheets, with the next page named by a header', async () => {
  const { call } = adminKit();
  const first = await call('GET', `/admin/spend?${HOURS}&by=tenant,model&format=csv&limit=4&tenant=acme`);
  assert.match(String(first.headers['content-type']), /^text\/csv/);
  assert.equal(
    first.text,
    [
      'at,tenant,model,requests,prompt_tokens,cached_tokens,completion_tokens,cost_micros,cost,currency',
      '2026-11-30T10:00:00.000Z,acme,m1,1,10,0,5,1500000,1.500000,USD',
      "2026-11-30T11:00:00.000Z,acme,'=cmd|x,2,10,0,5,1500001,1.500001,USD",
      '2026-11-30T12:00:00.000Z,acme,m1,3,10,0,5,1500002,1.500002,USD',
      '',
    ].join('\r\n'),
  );
  assert.equal(first.headers['x-next-cursor'], undefined);
  const paged = await call('GET', `/admin/spend?${HOURS}&by=tenant&format=csv&limit=4`);
  const cursor = String(paged.headers['x-next-cursor']);
  const rest = await call('GET', `/admin/spend?${HOURS}&by=tenant&limit=4&cursor=${cursor}`);
  assert.equal(rest.json.data?.length, 2);
  assert.equal(rest.json.next_cursor, null);
});

test('quotas: the lines of tenant and subject with what is left', async () => {
  const { call } = adminKit();
  const { json } = await call('GET', '/admin/quotas?subject=bob', { as: 'viewer@acme' });
  assert.equal(json['tenant'], 'acme');
  assert.deepEqual(
    json.data?.map(({ name, scope, remaining, reset_at }) => [name, scope, remaining, reset_at]),
    [
      ['tokens_per_day', 'tenant', 99, new Date(START + 60_000).toISOString()],
      ['concurrent_requests', 'subject:bob', 2, new Date(START + 60_000).toISOString()],
    ],
  );
});

test('quotas: what is named of the levels reaches the limits, and a key brings its own subject and line', async () => {
  const asked: object[] = [];
  const kit = adminKit({
    limitLines: async ({ key, ...who }) => {
      asked.push({ ...who, key: key?.id ?? null });
      return [];
    },
  });
  await kit.call('POST', '/admin/tenants', { body: { name: 'acme' } });
  await kit.call('POST', '/admin/tenants/acme/lines', { body: { name: 'ads' } });
  const key = await kit.call('POST', '/admin/keys', {
    body: { name: 'k', tenant: 'acme', subject: 'bob', business_line: 'ads' },
  });
  const id = String(key.json.id);
  for (const query of ['', `&key=${id}`, `&key=${id}&subject=eve&business_line=b2&model=m`])
    assert.equal((await kit.call('GET', `/admin/quotas?tenant=acme${query}`)).status, 200);
  const none = { tenant: 'acme', subject: null, model: null, businessLine: null, key: null };
  assert.deepEqual(asked, [
    none,
    { ...none, subject: 'bob', businessLine: 'ads', key: id },
    { tenant: 'acme', subject: 'eve', model: 'm', businessLine: 'b2', key: id },
  ]);
  const ask = (named: string) => kit.call('GET', `/admin/quotas?key=${named}`, { as: 'admin@globex' });
  const foreign = await ask(id);
  assert.equal(foreign.status, 404);
  assert.equal(foreign.json.error?.param, 'key');
  assert.equal(foreign.text, (await ask('key_00000000000000000000')).text);
});

test('quotas: more counters than one call to the store should read are read in turn', async () => {
  const sizes: number[] = [];
  const { call } = adminKit({
    limitLines: async () =>
      Array.from({ length: 450 }, (_, index) => ({
        scope: `line:l${index}`,
        unit: 'tokens' as const,
        window: { kind: 'calendar' as const, unit: 'day' as const },
        limit: index,
      })),
    quota: {
      peek: async (_tenant, lines) => {
        sizes.push(lines.length);
        return lines.map((line) => ({ line, remaining: line.limit, resetMs: 1 }));
      },
    },
  });
  const { json } = await call('GET', '/admin/quotas?tenant=acme');
  assert.deepEqual(sizes, [200, 200, 50]);
  assert.deepEqual(
    json.data?.map(({ limit }) => limit),
    Array.from({ length: 450 }, (_, index) => index),
  );
});

test('status: what serves, and the role and tenant of whoever asks', async () => {
  const { call } = adminKit();
  const expected = {
    object: 'status',
    version: '1.2.3',
    now: new Date(START).toISOString(),
    zone: 'Europe/Berlin',
    currency: 'USD',
    config_generation: 4,
    audit: { state: 'ok' },
    sink: { state: 'behind', lag_events: 7, lag_ms: 90_000 },
  };
  assert.deepEqual((await call('GET', '/admin/status')).json, { ...expected, role: 'admin', tenant: null });
  const own = await call('GET', '/admin/status', { as: 'viewer@acme' });
  assert.deepEqual(own.json, { ...expected, role: 'viewer', tenant: 'acme' });
});

test('live: figures of the last minute, null where nothing is known', async () => {
  const { call } = adminKit();
  assert.deepEqual((await call('GET', '/admin/live', { as: 'viewer' })).json, {
    object: 'live',
    at: new Date(START).toISOString(),
    replicas: [{ id: 'host-1', started_at: new Date(START - 1000).toISOString(), workers: 2, running: 3 }],
    data: [
      {
        route: 'r',
        model: 'm',
        deployment: 'm@b',
        backend: 'b',
        running: 2,
        requests_per_minute: 10,
        errors_per_minute: 1,
        tokens_per_minute: 1234,
        latency_ms_p50: 12.5,
        latency_ms_p95: 40,
        first_token_ms_p50: null,
        cold_share: null,
        warm_ms_p95: null,
      },
    ],
    queues: [
      {
        model: 'm',
        interactive: 3,
        batch: 1,
        oldest_ms: 250,
        refused_per_minute: 7,
        waited_per_minute: 40,
        wait_ms_p95: 180,
      },
    ],
    jobs: { queued: 4, running: 2, failed: 1, oldest_ms: 90_000 },
  });
  const without = adminKit({ jobs: async () => null });
  assert.equal((await without.call('GET', '/admin/live', { as: 'viewer' })).json['jobs'], null);
});

test('budgets: where each stands, in lists and alone; null for one that cannot be measured', async () => {
  const { call } = adminKit();
  const body = { tenant: 'acme', period: 'day', amount_micros: 2_000_000 };
  const made = await call('POST', '/admin/budgets', { body });
  assert.equal(made.json['state'], undefined, 'a write tells what was written');
  await call('POST', '/admin/budgets', { body: { ...body, currency: 'EUR' } });
  const { json } = await call('GET', '/admin/budgets');
  const state = {
    from: new Date(START - 10 * 3_600_000).toISOString(),
    to: new Date(START + 14 * 3_600_000).toISOString(),
    spent_micros: 1_000_001,
    spent: '1.000001',
    percent: 50,
    forecast_micros: 2_400_002,
    forecast: '2.400002',
    exhausted_at: new Date(START + 10 * 3_600_000).toISOString(),
    protected: false,
  };
  const states = json.data?.map((each) => [each['currency'], each['state']] as const);
  assert.deepEqual(
    new Map(states),
    new Map<unknown, unknown>([
      ['USD', state],
      ['EUR', null],
    ]),
  );
  assert.deepEqual((await call('GET', `/admin/budgets/${made.json.id}`)).json['state'], state);
});

test('the story of a request is that of the own tenant', async () => {
  const { call } = adminKit();
  assert.equal((await call('GET', '/admin/requests/shared')).json.data?.length, 2);
  const own = await call('GET', '/admin/requests/shared', { as: 'viewer@acme' });
  assert.deepEqual(own.json.data, [{ tenant: 'acme', note: 'trace-of-acme' }]);
});

test('the configuration hides secrets that its maker has forgotten', async () => {
  const { call } = adminKit();
  const { text, json } = await call('GET', '/admin/config');
  assert.doesNotMatch(text, /canary/);
  assert.deepEqual(json['config'], {
    redis: { url: 'redis://host:6379', note: 'x' },
    backends: [{ credentials: '[hidden]' }],
  });
});

test('models, deployments and routes with their state', async () => {
  const deployment = {
    id: 'm@b',
    backend: 'b',
    upstreamModel: 'org/m',
    weight: 1,
    zone: 'hot',
    stage: 'full',
    percent: 0,
    state: 'healthy' as const,
    running: 2,
    waiting: null,
    findings: [],
  };
  const { call } = adminKit({
    routing: async () => ({
      models: [
        {
          name: 'm',
          stage: 'full',
          fallback: [],
          deployments: [{ ...deployment, credentials: 'canary-secret' } as typeof deployment],
        },
      ],
      routes: [
        { id: 'r', models: ['*'], match: null, candidates: [{ model: 'm', weight: 1, canary: false }], fallback: [] },
      ],
    }),
  });
  const { text, json } = await call('GET', '/admin/routes');
  assert.doesNotMatch(text, /canary-secret/);
  const models = json['models'] as { deployments: unknown[] }[];
  const { upstreamModel, ...rest } = deployment;
  assert.deepEqual(models[0]?.deployments, [{ ...rest, upstream_model: upstreamModel }]);
});

test('a store that does not answer is 503 and says no more', async () => {
  const { StoreUnavailable } = await import('../core/ports/quota-store.ts');
  const { call, logged } = adminKit({
    quota: {
      peek: async () => {
        throw new StoreUnavailable('canary: connect ECONNREFUSED 10.0.0.7');
      },
    },
  });
  const reply = await call('GET', '/admin/quotas?tenant=acme');
  assert.equal(reply.status, 503);
  assert.equal(reply.json.error?.code, 'store_unavailable');
  assert.doesNotMatch(reply.text, /canary/);
  assert.equal(logged.length, 1);
});

test('an answer that takes too long is given up', async () => {
  const { call } = adminKit({ timeoutMs: 20, routing: () => new Promise(() => {}) });
  const reply = await call('GET', '/admin/routes');
  assert.equal(reply.status, 503);
  assert.equal(reply.json.error?.code, 'too_slow');
});

test('the docs page is whole without script, and loads only what the dashboard is made of', async () => {
  const { call } = adminKit();
  const page = await call('GET', '/admin/docs', { as: null });
  const dashboard = await call('GET', '/ui', { as: null });
  assert.equal(page.headers['content-security-policy'], dashboard.headers['content-security-policy']);
  assert.doesNotMatch(page.text, /<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|https?:\/\/(?!127\.0\.0\.1)/);
  const links = [...page.text.matchAll(/(?:src|href)="(\.\.[^"]+)"/g)].map(([, link]) => link ?? '');
  assert.equal(links.length, 5);
  for (const link of links) {
    const { pathname } = new URL(link, 'http://x/admin/docs');
    assert.equal((await call('GET', pathname, { as: null })).status, 200, pathname);
  }
  for (const path of ['/admin/keys/{id}/rotate', '/admin/tenants/{tenant}/lines']) assert.ok(page.text.includes(path));
  const ids = new Set([...page.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  for (const [, target] of page.text.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.has(target), target);
});
