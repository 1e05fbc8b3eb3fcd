import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKit, hashOf, SECRETS, START } from './admin-kit.test.ts';

const RULE = {
  unit: 'tokens',
  window: { kind: 'calendar', unit: 'day', zone: 'Europe/Berlin' },
  limit: 1000,
  model: null,
};
const SPEND = { unit: 'spend', window: { kind: 'sliding', seconds: 3600 }, limit: 5_000_000, model: 'gpt-x' };

async function withKey() {
  const kit = adminKit();
  const made = await kit.call('POST', '/admin/keys', { body: { name: 'k', tenant: 'acme' } });
  assert.equal(made.status, 201, made.text);
  return { ...kit, made, url: `/admin/keys/${made.json.id}` };
}

test('a key: its secret is told once and kept as a hash', async () => {
  const kit = adminKit();
  const { call, directory } = kit;
  await call('POST', '/admin/tenants/acme/lines', { body: { name: 'ads' } });
  const body = {
    name: 'batch',
    tenant: 'acme',
    subject: 'bob',
    business_line: 'ads',
    models: ['gpt-*'],
    scopes: ['batch'],
    tags: { team: 'growth' },
    limits: [RULE, SPEND],
    expires_at: '2027-01-31T01:00:00+01:00',
  };
  const made = await call('POST', '/admin/keys', { body });
  assert.equal(made.status, 201, made.text);
  const secret = made.json.secret ?? '';
  assert.match(secret, /^sk-tl-[A-Za-z0-9_-]{43}$/);
  const { subject, business_line, models, scopes, tags, limits, expires_at, tenant, status } = made.json;
  assert.deepEqual(
    { name: made.json['name'], tenant, subject, business_line, models, scopes, tags, limits, expires_at, status },
    { ...body, expires_at: '2027-01-31T00:00:00.000Z', status: 'active' },
  );
  assert.equal(made.headers['location'], `/admin/keys/${made.json.id}`);
  assert.equal((await directory.keyBySecret(hashOf(secret)))?.id, made.json.id);
  const stored = JSON.stringify([...directory.all, kit.entries, kit.logged]);
  assert.ok(!stored.includes(secret));
  for (const url of ['/admin/keys', `/admin/keys/${made.json.id}`, '/admin/audit', '/admin/config']) {
    const { text } = await call('GET', url);
    assert.ok(!text.includes(secret) && !text.includes(hashOf(secret)), url);
  }
});

test('rotate: the old secret opens during the grace, then the new one alone', async () => {
  const { call, directory, made, url } = await withKey();
  const old = hashOf(made.json.secret ?? '');
  const rotated = await call('POST', `${url}/rotate`, { body: { grace_seconds: 60 } });
  assert.equal(rotated.status, 200, rotated.text);
  assert.notEqual(rotated.json.secret, made.json.secret);
  const key = await directory.get('key', made.json.id ?? '');
  assert.deepEqual(key?.previous, { sha256: old, until: START + 60_000 });
  assert.equal(key?.sha256, hashOf(rotated.json.secret ?? ''));
  assert.equal(key?.createdAt, START);
  await call('POST', `${url}/rotate`, { body: {} });
  assert.equal((await directory.get('key', made.json.id ?? ''))?.previous, null);
});

test('revoke: both secrets end, again does no harm, nothing brings it back', async () => {
  const { call, directory, made, url } = await withKey();
  await call('POST', `${url}/rotate`, { body: { grace_seconds: 60 } });
  const revoked = await call('POST', `${url}/revoke`);
  assert.equal(revoked.json['status'], 'revoked');
  assert.equal((await directory.get('key', made.json.id ?? ''))?.previous, null);
  assert.equal((await call('POST', `${url}/revoke`)).json.version, revoked.json.version);
  assert.equal((await call('POST', `${url}/rotate`, { body: {} })).status, 409);
  assert.equal((await call('PATCH', url, { headers: { 'if-match': '*' }, body: { revoked_at: null } })).status, 400);
});

test('revoke gets through whoever writes at the same time', async () => {
  const { call, directory, made, url } = await withKey();
  const put = directory.put.bind(directory);
  let races = 3;
  directory.put = async (kind, id, record, expected) => {
    if (races > 0 && kind === 'key') {
      races -= 1;
      await put(kind, id, record, expected);
    }
    return put(kind, id, record, expected);
  };
  const revoked = await call('POST', `${url}/revoke`);
  assert.equal(revoked.status, 200, revoked.text);
  assert.notEqual((await directory.get('key', made.json.id ?? ''))?.revokedAt, null);
});

test('a repetition does nothing again and gets the first answer, without the secret', async () => {
  const { call, directory, tick, entries } = adminKit();
  const send = (body: unknown, key = 'one') =>
    call('POST', '/admin/keys', { headers: { 'idempotency-key': key }, body });
  const body = { name: 'k', tenant: 'acme' };
  const first = await send(body);
  const again = await send(body);
  assert.deepEqual(
    { ...again.json, status: again.status },
    { ...first.json, secret: null, status: 201 },
    'the key is the same',
  );
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.equal(again.headers['etag'], first.headers['etag']);
  assert.equal(directory.all.size, 1);
  assert.deepEqual(
    entries.map(({ facts }) => facts['repeated']),
    [false, true],
  );
  const other = await send({ ...body, name: 'other' });
  assert.equal(other.status, 409);
  assert.equal(other.json.error?.code, 'idempotency_key_reused');
  tick(24 * 3_600_000 - 1);
  assert.equal((await send(body)).json.id, first.json.id);
  tick(2);
  assert.notEqual((await send(body)).json.id, first.json.id);
});

test('at the same time, only one of equal writes is done', async () => {
  const { call, directory } = adminKit();
  const replies = await Promise.all(
    Array.from({ length: 10 }, () =>
      call('POST', '/admin/keys', { headers: { 'idempotency-key': 'one' }, body: { name: 'k', tenant: 'acme' } }),
    ),
  );
  assert.equal(directory.all.size, 1);
  assert.equal(replies.filter(({ json }) => typeof json.secret === 'string').length, 1);
  for (const { status } of replies) assert.ok(status === 201 || status === 409);
});

test('a refused write leaves its Idempotency-Key free; one whose end is unknown does not', async () => {
  const { call, directory } = adminKit();
  const send = (body: unknown, key: string) =>
    call('POST', '/admin/tenants', { headers: { 'idempotency-key': key }, body });
  await send({ name: 'acme' }, 'a');
  assert.equal((await send({ name: 'acme' }, 'b')).status, 409);
  assert.equal((await send({ name: 'globex' }, 'b')).status, 201);
  const put = directory.put.bind(directory);
  directory.put = async () => {
    throw new TypeError('canary');
  };
  const failed = await send({ name: 'third' }, 'c');
  assert.equal(failed.status, 500);
  assert.ok(!failed.text.includes('canary'));
  directory.put = put;
  assert.equal((await send({ name: 'third' }, 'c')).json.error?.code, 'idempotency_key_running');
});

test('writes need an Idempotency-Key of a fit form', async () => {
  const { call } = adminKit();
  for (const key of ['', 'a b', 'x'.repeat(129), 'é']) {
    const reply = await call('POST', '/admin/tenants', { headers: { 'idempotency-key': key }, body: { name: 'acme' } });
    assert.equal(reply.status, 400, JSON.stringify(key));
    assert.equal(reply.json.error?.param, 'Idempotency-Key');
  }
});

test('changes need the version that they saw', async () => {
  const { call, url, made } = await withKey();
  const patch = (headers: Record<string, string>, name = 'n') => call('PATCH', url, { headers, body: { name } });
  assert.equal((await patch({})).status, 428);
  for (const wrong of ['"2"', '1', 'W/"1"', 'x', '"1'])
    assert.equal((await patch({ 'if-match': wrong })).status, 412, wrong);
  const done = await patch({ 'if-match': String(made.headers['etag']) });
  assert.equal(done.status, 200, done.text);
  assert.equal(done.headers['etag'], '"2"');
  const late = await patch({ 'if-match': '"1"' });
  assert.equal(late.status, 412);
  assert.equal(late.headers['etag'], '"2"');
  assert.equal((await patch({ 'if-match': '"7", "2"' })).status, 200);
  assert.equal((await patch({ 'if-match': '*' })).status, 200);
  assert.equal((await call('DELETE', url, { headers: { 'if-match': '"1"' } })).status, 412);
  assert.equal((await call('DELETE', url, { headers: { 'if-match': '"4"' } })).status, 200);
  assert.equal((await call('GET', url)).status, 404);
});

test('of writers that saw the same version, one wins', async () => {
  const { call, url, directory, made } = await withKey();
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      call('PATCH', url, { headers: { 'if-match': '"1"' }, body: { name: `writer ${index}` } }),
    ),
  );
  assert.deepEqual(replies.map(({ status }) => String(status)).toSorted(), [
    '200',
    ...Array.from({ length: 19 }, () => '412'),
  ]);
  const key = await directory.get('key', made.json.id ?? '');
  assert.equal(key?.version, 2);
  assert.equal(key?.name, replies.find(({ status }) => status === 200)?.json['name']);
});

test('a change leaves alone what it does not name', async () => {
  const { call, directory, url, made } = await withKey();
  const before = await directory.get('key', made.json.id ?? '');
  await call('PATCH', url, { headers: { 'if-match': '*' }, body: { tags: { a: 'b' }, limits: [RULE] } });
  const after = await directory.get('key', made.json.id ?? '');
  assert.deepEqual(after, { ...before, tags: { a: 'b' }, limits: [RULE], version: 2, updatedAt: START });
  const cleared = await call('PATCH', url, {
    headers: { 'if-match': '*' },
    body: { business_line: null, expires_at: null },
  });
  assert.equal(cleared.status, 200);
});

test('tenants, lines and budgets echo what was stored', async () => {
  const { call, directory } = adminKit();
  const tenant = await call('POST', '/admin/tenants', {
    body: { name: 'Acme Süd', tier: 'gold', limits: [RULE], subject_limits: [SPEND] },
  });
  assert.equal(tenant.status, 201, tenant.text);
  assert.equal(tenant.headers['location'], '/admin/tenants/Acme%20S%C3%BCd');
  assert.deepEqual((await call('GET', '/admin/tenants/Acme%20S%C3%BCd')).json, tenant.json);
  const line = await call('POST', '/admin/tenants/Acme%20S%C3%BCd/lines', {
    body: { name: 'ads', cost_tier: 'economy', channels: ['ops'] },
  });
  assert.deepEqual((await call('GET', String(line.headers['location']))).json, line.json);
  assert.equal((await directory.get('line', 'Acme Süd/ads'))?.costTier, 'economy');
  const budget = await call('POST', '/admin/budgets', {
    body: { tenant: 'Acme Süd', business_line: 'ads', period: 'month', amount_micros: 9_000_000 },
  });
  assert.equal(budget.status, 201, budget.text);
  const changed = await call('PATCH', `/admin/budgets/${budget.json.id}`, {
    headers: { 'if-match': '"1"' },
    body: { alerts_at: [50] },
  });
  const stored = await directory.get('budget', budget.json.id ?? '');
  assert.deepEqual([stored?.alertsAt, stored?.amount, stored?.businessLine], [[50], 9_000_000, 'ads']);
  assert.deepEqual(changed.json['alerts_at'], [50]);
  const kept = await call('DELETE', '/admin/tenants/Acme%20S%C3%BCd', { headers: { 'if-match': '*' } });
  assert.equal(kept.status, 409);
});

test('every write is in the audit, refused ones too, without secrets', async () => {
  const { call, entries } = adminKit();
  const made = await call('POST', '/admin/keys', { as: 'operator@acme', body: { name: 'k', tenant: 'acme' } });
  await call('PATCH', `/admin/keys/${made.json.id}`, { body: { name: 'x' } });
  await call('POST', '/admin/keys', { as: 'operator@acme', body: { name: 'k', tenant: 'globex' } });
  await call('POST', '/admin/keys', { body: { name: 'k', tenant: 'acme', nonsense: 1 } });
  const seen = entries.map(({ kind, facts }) => [
    kind,
    facts['action'],
    facts['outcome'],
    facts['status'],
    facts['caller'],
    facts['tenant'],
  ]);
  assert.deepEqual(seen, [
    ['admin', 'key.create', 'done', 201, 'operator@acme', 'acme'],
    ['admin', 'key.update', 'refused', 428, 'admin', null],
    ['admin', 'key.create', 'refused', 403, 'operator@acme', 'acme'],
    ['admin', 'key.create', 'refused', 400, 'admin', null],
  ]);
  assert.equal(entries[0]?.facts['request_id'], made.headers['x-request-id']);
  const text = JSON.stringify(entries);
  for (const secret of [made.json.secret ?? '?', ...Object.values(SECRETS)]) assert.ok(!text.includes(secret));
});

test('nothing can be changed while the audit cannot be written', async () => {
  let state: 'ok' | 'failing' = 'failing';
  const kit = adminKit();
  const { call, directory } = adminKit({
    audit: { log: { append: () => {}, state: () => state }, reader: { read: async () => [] } },
  });
  assert.equal(
    (await call('POST', '/admin/tenants', { body: { name: 'acme' } })).json.error?.code,
    'audit_unavailable',
  );
  assert.equal(directory.all.size, 0);
  assert.equal((await call('GET', '/admin/tenants')).status, 200);
  state = 'ok';
  assert.equal((await call('POST', '/admin/tenants', { body: { name: 'acme' } })).status, 201);
  await kit.app.close();
});

test('a business line goes only when nothing is of it any more', async () => {
  const { call, directory } = adminKit();
  await directory.put('tenant', 'acme', { name: 'acme', tier: 'standard', limits: [], subjectLimits: [] }, 0);
  await directory.put(
    'line',
    'acme/ads',
    { tenant: 'acme', name: 'ads', costTier: 'core', limits: [], channels: [] },
    0,
  );
  const budget = {
    id: 'budget_00000000000000000001',
    tenant: 'acme',
    businessLine: 'ads',
    period: 'day',
    amount: 5,
    currency: 'USD',
    alertsAt: [],
  } as unknown as Parameters<typeof directory.put<'budget'>>[2];
  await directory.put('budget', budget.id, budget, 0);
  const remove = () => call('DELETE', '/admin/tenants/acme/lines/ads', { headers: { 'if-match': '"1"' } });
  const refused = await remove();
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.text, /budget_00000000000000000001 is still of this business line/);
  await directory.remove('budget', budget.id, 1);
  assert.equal((await remove()).status, 200);
});

test('a channel or a deployment that there is not is told with those that there are', async () => {
  for (const [channels, told] of [
    [['mail', 'pager'], /^"ops" is no channel of budgets\.channels; there are: mail, pager\.$/],
    [[], /there are: none\.$/],
  ] as const) {
    const { call } = adminKit({ channels: () => channels });
    const body = { name: 'ads', cost_tier: 'economy', channels: [...channels, 'ops'] };
    const { status, json } = await call('POST', '/admin/tenants/acme/lines', { body });
    assert.deepEqual(
      [status, json.error?.code, json.error?.param],
      [400, 'invalid_value', `channels[${channels.length}]`],
    );
    assert.match(json.error?.message ?? '', told);
  }
  const { status, json } = await adminKit().call('GET', '/admin/deployments/m@none');
  assert.equal(status, 404);
  assert.match(json.error?.message ?? '', /`tokenlat deployments list`/);
});
