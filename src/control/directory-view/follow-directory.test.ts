import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { DirectoryRecord } from '../../core/directory.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import { FakeDirectory } from './fake-directory.ts';
import { followDirectory, type FollowDirectoryOptions, type FollowedDirectory } from './follow-directory.ts';

const noop = (): void => {};
const log: Log = { debug: noop, info: noop, warn: noop, error: noop };

const tenant = (name: string, tier = 'standard'): DirectoryRecord =>
  ({ kind: 'tenant', name, tier, limits: [], subjectLimits: [] }) as unknown as DirectoryRecord;
const line = (of: string, name: string): DirectoryRecord =>
  ({ kind: 'line', tenant: of, name, costTier: 'core' }) as unknown as DirectoryRecord;
const budget = (id: string, of: string, amount = 1): DirectoryRecord =>
  ({ kind: 'budget', id, tenant: of, businessLine: null, amount }) as unknown as DirectoryRecord;

function follow(store: FakeDirectory, options: Partial<FollowDirectoryOptions> = {}) {
  const anomalies: string[] = [];
  const metrics = { anomaly: (kind: string) => void anomalies.push(kind) };
  return Object.assign(followDirectory({ store, log, metrics, retryMs: 5, ...options }), { anomalies });
}

const ids = (followed: FollowedDirectory, of: string): string =>
  followed.view
    .budgets(of)
    .map(({ id }) => id)
    .join(' ');

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 400 && !holds(); i += 1) await sleep(2);
  assert.ok(holds(), 'did not come about');
}

test('reads all pages, then every change', async () => {
  const store = new FakeDirectory();
  for (let i = 0; i < 1203; i += 1) store.put(line('acme', `l${i}`));
  store.put(tenant('acme'));
  store.put(budget('b2', 'acme'));
  store.put(budget('b1', 'acme'));
  const followed = follow(store);
  assert.equal(followed.budgets(), null);
  assert.equal(followed.view.tenant('acme'), null);
  assert.equal(await followed.ready(1000), true);
  assert.equal(followed.view.line('acme', 'l1202')?.name, 'l1202');
  assert.equal(followed.view.line('acme', 'none'), null);
  assert.equal(ids(followed, 'acme'), 'b1 b2');
  let changes = 0;
  followed.onChange(() => (changes += 1));
  store.put(tenant('acme', 'gold'));
  store.put(budget('b1', 'other'));
  store.drop('line', 'acme/l7');
  store.drop('budget', 'b2');
  await until(() => followed.view.tenant('acme')?.tier === 'gold' && ids(followed, 'acme') === '');
  assert.equal(ids(followed, 'other'), 'b1');
  assert.deepEqual(
    followed.budgets()?.map(({ id }) => id),
    ['b1'],
  );
  await until(() => followed.view.line('acme', 'l7') === null);
  assert.ok(changes >= 4);
  followed.close();
  assert.equal(store.watchers, 0);
});

test('while the store is gone the last known state stays, and what was missed is made up for', async () => {
  const store = new FakeDirectory();
  store.put(tenant('acme'));
  const followed = follow(store);
  await followed.ready(1000);
  store.gone = true;
  store.put(tenant('acme', 'gold'));
  await sleep(20);
  assert.equal(followed.view.tenant('acme')?.tier, 'standard');
  store.gone = false;
  await until(() => followed.view.tenant('acme')?.tier === 'gold');
  store.gone = true;
  store.tell('all');
  store.put(tenant('new'), { silent: true });
  await sleep(20);
  assert.equal(followed.view.tenant('acme')?.tier, 'gold');
  store.gone = false;
  await until(() => followed.view.tenant('new') !== null);
  followed.close();
});

test('a store that is gone at the start is waited for', async () => {
  const store = new FakeDirectory();
  store.gone = true;
  store.put(tenant('acme'));
  const followed = follow(store);
  assert.equal(await followed.ready(20), false);
  assert.equal(followed.budgets(), null);
  store.gone = false;
  assert.equal(await followed.ready(1000), true);
  assert.notEqual(followed.view.tenant('acme'), null);
  followed.close();
});

test('a word that was lost is made up for by reading all again', async () => {
  const store = new FakeDirectory();
  const followed = follow(store, { rereadMs: 10 });
  await followed.ready(1000);
  store.put(tenant('acme'), { silent: true });
  await until(() => followed.view.tenant('acme') !== null);
  followed.close();
});

test('more records than there is room for are told of', async () => {
  const store = new FakeDirectory();
  for (let i = 0; i < 9; i += 1) store.put(tenant(`t${i}`));
  const followed = follow(store, { most: 5 });
  await followed.ready(1000);
  assert.notEqual(followed.view.tenant('t4'), null);
  assert.equal(followed.view.tenant('t5'), null);
  assert.ok(followed.anomalies.includes('directory_too_large'));
  followed.close();
});

test('whatever happens in whatever order, the view ends as the store is', async () => {
  const step = fc.record({
    id: fc.constantFrom('b1', 'b2', 'b3'),
    tenant: fc.constantFrom('acme', 'other'),
    act: fc.constantFrom('put', 'drop', 'gone', 'back', 'all', 'pause'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const store = new FakeDirectory();
      store.before = () => new Promise((resolve) => setImmediate(resolve));
      const followed = follow(store, { retryMs: 1 });
      for (const [amount, { id, tenant: of, act }] of steps.entries()) {
        if (act === 'put') store.put(budget(id, of, amount));
        if (act === 'drop') store.drop('budget', id);
        if (act === 'gone' || act === 'back') store.gone = act === 'gone';
        if (act === 'all') store.tell('all');
        if (act === 'pause') await new Promise((resolve) => setImmediate(resolve));
      }
      store.gone = false;
      const kept = (): string => JSON.stringify(followed.budgets()?.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
      const wanted = JSON.stringify(
        [...store.records.values()].toSorted((a, b) => ('id' in a && 'id' in b && a.id < b.id ? -1 : 1)),
      );
      await until(() => kept() === wanted);
      followed.close();
    }),
    { numRuns: 60 },
  );
});
