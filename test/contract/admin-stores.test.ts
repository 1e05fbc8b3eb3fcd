import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { adminKit, hashOf } from '../../src/admin/admin-kit.test.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import type { Stores } from '../../src/store/stores.ts';
import { startRedis } from '../support/redis-server.ts';
import { LEDGER, openStores } from './redis-harness.ts';

const RULE = {
  unit: 'tokens',
  window: { kind: 'calendar', unit: 'day', zone: 'Europe/Berlin' },
  limit: 1000,
  model: null,
};

async function overRedis(): Promise<Stores> {
  const server = await startRedis();
  const stores = await openStores(server.url);
  return {
    ...stores,
    close: async () => {
      await stores.close();
      await server.stop();
    },
  };
}

for (const [name, open] of [
  ['memory', async () => createMemoryStores({ clock: systemClock, ledger: { ...LEDGER, zone: 'UTC' } })],
  ['redis', overRedis],
] as const) {
  const opened = open();
  after(async () => (await opened).close());

  test(`${name}: the admin API over the real stores`, async () => {
    const { directory, quota, spend, traces } = await opened;
    const { call } = adminKit({ directory, quota, spend, traces, clock: systemClock });
    const made = await call('POST', '/admin/tenants', { body: { name: 'Acme Süd', limits: [RULE] } });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual((await call('GET', '/admin/tenants/Acme%20S%C3%BCd')).json, made.json);
    assert.equal((await call('POST', '/admin/tenants', { body: { name: 'Acme Süd' } })).status, 409);
    for (const line of ['b', 'a', 'c'])
      assert.equal((await call('POST', '/admin/tenants/Acme%20S%C3%BCd/lines', { body: { name: line } })).status, 201);
    const lines = await call('GET', '/admin/tenants/Acme%20S%C3%BCd/lines?limit=2');
    assert.deepEqual(
      lines.json.data?.map((line) => line['name']),
      ['a', 'b'],
    );
    const rest = await call('GET', `/admin/tenants/Acme%20S%C3%BCd/lines?limit=2&cursor=${lines.json.next_cursor}`);
    assert.deepEqual(
      rest.json.data?.map((line) => line['name']),
      ['c'],
    );

    const key = await call('POST', '/admin/keys', {
      body: { name: 'k', tenant: 'Acme Süd', business_line: 'a', limits: [RULE] },
    });
    assert.equal(key.status, 201, key.text);
    const url = `/admin/keys/${key.json.id}`;
    const rotated = await call('POST', `${url}/rotate`, { body: { grace_seconds: 60 } });
    for (const secret of [key.json.secret, rotated.json.secret])
      assert.equal((await directory.keyBySecret(hashOf(secret ?? '')))?.id, key.json.id);
    const races = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call('PATCH', url, { headers: { 'if-match': '"2"' }, body: { name: `writer ${index}` } }),
      ),
    );
    assert.equal(races.filter(({ status }) => status === 200).length, 1);
    assert.equal(races.filter(({ status }) => status === 412).length, 7);
    assert.equal((await call('POST', `${url}/revoke`)).json['status'], 'revoked');
    assert.equal(await directory.keyBySecret(hashOf(key.json.secret ?? '')), null);

    assert.equal((await call('GET', '/admin/quotas?tenant=Acme%20S%C3%BCd')).json.data?.[0]?.['remaining'], 100);
    assert.deepEqual((await call('GET', '/admin/spend?from=2026-11-30&to=2026-12-01&by=model')).json.data, []);
    assert.deepEqual((await call('GET', '/admin/top?day=2026-11-30')).json.data, []);
    assert.equal((await call('GET', '/admin/requests/none')).status, 404);

    assert.equal((await call('DELETE', url, { headers: { 'if-match': '*' } })).status, 200);
    for (const line of ['a', 'b', 'c'])
      await call('DELETE', `/admin/tenants/Acme%20S%C3%BCd/lines/${line}`, { headers: { 'if-match': '"1"' } });
    const gone = await call('DELETE', '/admin/tenants/Acme%20S%C3%BCd', { headers: { 'if-match': '"1"' } });
    assert.equal(gone.status, 200, gone.text);
    assert.deepEqual((await call('GET', '/admin/tenants')).json.data, []);
  });
}
