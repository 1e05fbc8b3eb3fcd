import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sourceOf } from './access/rate-limit.ts';
import { adminKit, SECRETS } from './admin-kit.test.ts';

const KEY = { name: 'k', tenant: 'acme' };
const RULE = { unit: 'tokens', window: { kind: 'sliding', seconds: 60 }, limit: 5 };
const wrong = (index: number): string => `Bearer wrong-token-number-${index}-0123456789`;

test('fields that nobody knows, and values out of their bounds, are refused by name', async () => {
  const { call, directory } = adminKit();
  const cases: readonly (readonly [object, string])[] = [
    [{ ...KEY, sha256: 'a'.repeat(64) }, 'sha256'],
    [{ ...KEY, id: 'key_1' }, 'id'],
    [{ ...KEY, version: 9 }, 'version'],
    [{ tenant: 'acme' }, 'name'],
    [{ ...KEY, name: 'a\u0000b' }, 'name'],
    [{ ...KEY, name: 'a\u202eb' }, 'name'],
    [{ ...KEY, tenant: 'a/b' }, 'tenant'],
    [{ ...KEY, tenant: '..' }, 'tenant'],
    [{ ...KEY, tenant: ' acme' }, 'tenant'],
    [{ ...KEY, scopes: ['admin:admin'] }, 'scopes[0]'],
    [{ ...KEY, scopes: ['admin'] }, 'scopes[0]'],
    [{ ...KEY, scopes: ['a b'] }, 'scopes[0]'],
    [{ ...KEY, models: ['*a'] }, 'models[0]'],
    [{ ...KEY, business_line: 'none' }, 'business_line'],
    [{ ...KEY, expires_at: '2026-11-30T09:59:59Z' }, 'expires_at'],
    [{ ...KEY, expires_at: 1_900_000_000 }, 'expires_at'],
    [{ ...KEY, limits: [{ ...RULE, unit: 'token' }] }, 'limits[0].unit'],
    [{ ...KEY, limits: [{ ...RULE, limit: -1 }] }, 'limits[0].limit'],
    [{ ...KEY, limits: [{ ...RULE, limit: 1.5 }] }, 'limits[0].limit'],
    [{ ...KEY, limits: [{ ...RULE, limit: 1e13 }] }, 'limits[0].limit'],
    [{ ...KEY, limits: [{ ...RULE, window: { kind: 'sliding', seconds: 0 } }] }, 'limits[0].window.seconds'],
    [{ ...KEY, limits: [{ ...RULE, window: { kind: 'calendar', unit: 'week' } }] }, 'limits[0].window.unit'],
    [
      { ...KEY, limits: [{ ...RULE, window: { kind: 'calendar', unit: 'day', zone: 'Mars/Base' } }] },
      'limits[0].window.zone',
    ],
    [
      { ...KEY, limits: [{ ...RULE, window: { kind: 'calendar', unit: 'day', zone: '+01:00' } }] },
      'limits[0].window.zone',
    ],
    [{ ...KEY, limits: [{ ...RULE, unit: 'spend', window: { kind: 'concurrent' } }] }, 'limits[0].window'],
    [{ ...KEY, limits: [RULE, { ...RULE, limit: 9 }] }, 'limits[1]'],
    [{ ...KEY, tags: { 'a b': 'c' } }, 'tags.a b'],
    [{ ...KEY, tags: { a: 1 } }, 'tags.a'],
  ];
  for (const [body, param] of cases) {
    const reply = await call('POST', '/admin/keys', { body });
    assert.equal(reply.status, 400, JSON.stringify(body));
    assert.equal(reply.json.error?.param, param, reply.text);
  }
  assert.equal(directory.all.size, 0);
});

test('what is wrong is said in words, without the value', async () => {
  const { call } = adminKit();
  const rule = (change: object): object => ({ ...KEY, limits: [{ ...RULE, ...change }] });
  for (const [body, code, message] of [
    [{ tenant: 'acme' }, 'missing_parameter', 'This is missing: it must be a text.'],
    [{ ...KEY, name: 7 }, 'invalid_value', 'It must be a text.'],
    [{ ...KEY, name: '' }, 'invalid_value', 'It must not be empty.'],
    [{ ...KEY, name: 'x'.repeat(129) }, 'invalid_value', 'It must have at most 128 characters.'],
    [rule({ unit: 'canary' }), 'invalid_value', 'It must be one of requests, tokens, spend.'],
    [rule({ limit: -1 }), 'invalid_value', 'It must be at least 0.'],
    [rule({ limit: 1.5 }), 'invalid_value', 'It must be a whole number.'],
    [rule({ window: { kind: 'canary' } }), 'invalid_value', 'It is none of the forms that are known here.'],
    [{ ...KEY, tags: { 'a b': 'c' } }, 'invalid_value', null],
    [{ ...KEY, canary: 1 }, 'invalid_value', 'There is no such field.'],
  ] as const) {
    const { json } = await call('POST', '/admin/keys', { body });
    assert.equal(json.error?.code, code, JSON.stringify(body));
    if (message !== null) assert.equal(json.error?.message, message);
    assert.doesNotMatch(json.error?.message ?? '', /canary/);
  }
});

test('bodies that are not JSON by the book are refused', async () => {
  const { call, directory } = adminKit();
  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    call('POST', '/admin/keys', { body, headers });
  for (const body of [
    '',
    '{',
    'null',
    '[]',
    '1',
    '"x"',
    '{"name":"k","name":"l","tenant":"acme"}',
    '\ufeff{}',
    '['.repeat(5000),
  ])
    assert.equal((await post(body)).status, 400, body.slice(0, 40));
  assert.equal((await post(Buffer.from([0x7b, 0xff, 0x7d]))).status, 400);
  assert.equal((await post('{"__proto__":{"name":"k"},"tenant":"acme"}')).status, 400);
  assert.equal((await post(JSON.stringify({ ...KEY, name: 'x'.repeat(65_536) }))).status, 413);
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json-patch+json',
  ])
    assert.equal((await post(JSON.stringify(KEY), { 'content-type': type })).status, 415, type);
  assert.equal((await post(JSON.stringify(KEY), { 'content-type': 'application/json; charset=utf-8' })).status, 201);
  assert.equal(directory.all.size, 1);
});

test('whoever has no token sends no body either', async () => {
  const { call } = adminKit();
  const reply = await call('POST', '/admin/keys', { as: null, body: 'x'.repeat(100_000) });
  assert.equal(reply.status, 401, 'the door is before the body');
});

test('no body brings the server down, and none is stored that a reader would choke on', async () => {
  const { call, logged } = adminKit();
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, -1, 1e308, '', 'acme', 'k', '2027-01-01T00:00:00Z', '*', '__proto__', '\ud800'),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.array(tie('any'), { maxLength: 4 }),
      fc.dictionary(
        fc.constantFrom(
          'name',
          'tenant',
          'limits',
          'unit',
          'window',
          'kind',
          'seconds',
          'limit',
          'models',
          'tags',
          'constructor',
          '__proto__',
          'x',
        ),
        tie('any'),
        { maxKeys: 6 },
      ),
    ),
  })).any;
  const routes = [
    ['POST', '/admin/keys', KEY],
    ['POST', '/admin/tenants', { name: 't' }],
    ['POST', '/admin/tenants/acme/lines', { name: 'l' }],
    ['POST', '/admin/budgets', { tenant: 'acme', period: 'day', amount_micros: 1 }],
  ] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...routes),
      fc.constantFrom('name', 'limits', 'tags', 'tenant', 'models', ''),
      value,
      async (route, field, junk) => {
        const [method, url, base] = route;
        const body = field === '' ? junk : { ...base, [field]: junk };
        const reply = await call(method, url, { body: JSON.stringify(body) });
        assert.ok(reply.status < 500, `${url} ${JSON.stringify(body)}: ${reply.text}`);
      },
    ),
    { numRuns: 400 },
  );
  for (const url of ['/admin/keys', '/admin/tenants', '/admin/budgets'])
    assert.equal((await call('GET', url)).status, 200);
  assert.deepEqual(logged, []);
});

test('no path, query or header brings the server down', async () => {
  const { call, logged } = adminKit({ badTries: 1_000_000 });
  const part = fc.oneof(
    fc.webQueryParameters(),
    fc.uint8Array({ maxLength: 30 }).map((bytes) => encodeURIComponent(Buffer.from(bytes).toString('latin1'))),
  );
  const header = fc.string({ minLength: 0, maxLength: 40 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '~'));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('keys', 'tenants', 'spend', 'audit', 'quotas', 'requests', 'top'),
      part,
      part,
      header,
      header,
      async (base, path, query, auth, match) => {
        const plain = await call('GET', `/admin/${base}/${path}?${query}`);
        assert.ok(plain.status < 500, plain.text);
        const asked = await call('GET', `/admin/${base}?tenant=${query}&from=${path}`);
        assert.ok(asked.status < 500, asked.text);
        const opened = await call('GET', '/admin/keys', { as: null, headers: { authorization: auth } });
        assert.equal(opened.status, 401);
        const matched = await call('DELETE', '/admin/keys/key_00000000000000000001', {
          headers: { 'if-match': match, 'idempotency-key': match },
        });
        assert.ok(matched.status < 500, matched.text);
      },
    ),
    { numRuns: 150 },
  );
  assert.deepEqual(logged, []);
});

test('after 20 bad tries a minute a source waits, even with a good token; others do not', async () => {
  const { call, tick } = adminKit();
  const from = '192.0.2.1';
  for (let index = 0; index < 20; index += 1) {
    assert.equal((await call('GET', '/admin/keys', { as: wrong(index), from })).status, 401);
    tick(1000);
  }
  for (const as of [wrong(99), 'admin', null]) {
    const reply = await call('GET', '/admin/keys', { as, from });
    assert.equal(reply.status, 429);
    assert.equal(reply.headers['retry-after'], '40');
  }
  assert.equal((await call('GET', '/admin/keys', { from: '192.0.2.2' })).status, 200);
  tick(40_000);
  assert.equal((await call('GET', '/admin/keys', { from })).status, 200);
});

test('one bad token from many sources waits as well', async () => {
  const { call } = adminKit();
  for (let index = 0; index < 20; index += 1)
    assert.equal((await call('GET', '/admin/keys', { as: wrong(1), from: `192.0.2.${index}` })).status, 401);
  assert.equal((await call('GET', '/admin/keys', { as: wrong(1), from: '192.0.2.200' })).status, 429);
  assert.equal((await call('GET', '/admin/keys', { as: wrong(2), from: '192.0.2.200' })).status, 401);
});

test('one caller has so many requests a minute', async () => {
  const { call, tick } = adminKit({ requestsPerMinute: 3 });
  for (let index = 0; index < 3; index += 1) assert.equal((await call('GET', '/admin/keys')).status, 200);
  assert.equal((await call('GET', '/admin/keys')).status, 429);
  assert.equal((await call('GET', '/admin/keys', { as: 'viewer' })).status, 200);
  tick(60_001);
  assert.equal((await call('GET', '/admin/keys')).status, 200);
});

test('a source is an IPv4 address or an IPv6 network', () => {
  assert.equal(sourceOf('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(sourceOf('2001:db8:1:2:3:4:5:6'), sourceOf('2001:db8:1:2::9'));
  assert.notEqual(sourceOf('2001:db8:1:2::1'), sourceOf('2001:db8:1:3::1'));
  assert.equal(sourceOf('::1'), '0:0:0:0::/64');
  assert.equal(sourceOf('fe80::1%eth0'), 'fe80:0:0:0::/64');
});

test('answers carry a request id of ours, and nothing may keep or sniff them', async () => {
  const { call } = adminKit();
  for (const url of ['/admin/keys', '/admin/nothing', '/admin/%zz', '/admin/docs']) {
    const { headers } = await call('GET', url, { headers: { 'x-request-id': 'theirs' } });
    assert.match(String(headers['x-request-id']), /^adm-[0-9a-f]{24}$/, url);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['set-cookie'], undefined);
    assert.equal(headers['access-control-allow-origin'], undefined);
  }
  const cookie = await call('GET', '/admin/keys', { as: null, headers: { cookie: `token=${SECRETS['admin']}` } });
  assert.equal(cookie.status, 401);
});
