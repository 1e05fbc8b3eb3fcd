import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordOf, WriteResult } from '../../src/core/ports/directory-store.ts';
import type { DirectoryKind } from '../../src/core/directory.ts';
import { microUnits } from '../../src/core/money.ts';
import type { DirectoryStore } from '../../src/core/ports/directory-store.ts';
import type { Harness } from './quota-harness.ts';

type Fields<K extends DirectoryKind> = Omit<RecordOf<K>, 'kind' | 'version' | 'createdAt' | 'updatedAt'>;

const NOON = Date.UTC(2028, 1, 29, 12, 0, 0);

export function keyFields(id: string, sha256: string, more: Partial<Fields<'key'>> = {}): Fields<'key'> {
  return {
    id,
    name: 'a key \r\n\0é',
    sha256,
    hint: 'sk-tl-abc…wxyz',
    tenant: 'acme',
    subject: 'ann',
    businessLine: null,
    models: ['*'],
    scopes: [],
    tags: { team: 'search' },
    limits: [
      { unit: 'spend', window: { kind: 'calendar', unit: 'day', zone: 'Europe/Berlin' }, limit: 5, model: null },
    ],
    expiresAt: null,
    revokedAt: null,
    previous: null,
    ...more,
  };
}

const tenantFields = (name: string): Fields<'tenant'> => ({ name, tier: 'standard', limits: [], subjectLimits: [] });

const lineFields = (tenant: string, name: string): Fields<'line'> => ({
  tenant,
  name,
  costTier: 'core',
  limits: [],
  channels: ['ops'],
});

let hashes = 0;
export function freshHash(): string {
  hashes += 1;
  return hashes.toString(16).padStart(64, '0');
}
let ids = 0;
export function freshId(): string {
  ids += 1;
  return `key_${ids.toString(16).padStart(20, '0')}`;
}

export function writtenOf<K extends DirectoryKind>(result: WriteResult<K>): RecordOf<K> {
  assert.ok(result.kind === 'written', JSON.stringify(result));
  return result.record;
}

/** Everything the port promises, for any store. */
export function testDirectoryStore(name: string, open: () => Promise<Harness>): void {
  describe(`directory store: ${name}`, () => {
    let harness: Harness;
    let store: DirectoryStore;
    let other: DirectoryStore;
    before(async () => {
      harness = await open();
      [store, other] = [harness.clients[0].directory, harness.clients[1].directory];
    });
    after(() => harness.close());
    beforeEach(() => harness.setTime(NOON));

    test('a record is written, read, changed and removed, each time by its version', async () => {
      const [id, sha] = [freshId(), freshHash()];
      assert.equal(await store.get('key', id), null);
      const fields = keyFields(id, sha);
      const made = writtenOf(await store.put('key', id, fields, 0));
      assert.deepEqual(made, { ...fields, kind: 'key', version: 1, createdAt: NOON, updatedAt: NOON });
      assert.deepEqual(await other.get('key', id), made);
      await harness.setTime(NOON + 5000);
      const changed = writtenOf(await other.put('key', id, { ...fields, revokedAt: NOON + 5000 }, 1));
      assert.deepEqual(changed, { ...made, revokedAt: NOON + 5000, version: 2, updatedAt: NOON + 5000 });
      for (const expected of [0, 1, 3]) {
        assert.deepEqual(await store.put('key', id, fields, expected), { kind: 'stale', current: changed });
        assert.deepEqual(await store.remove('key', id, expected), { kind: 'stale', current: changed });
      }
      assert.deepEqual(await store.remove('key', id, 2), { kind: 'written', record: changed });
      assert.equal(await store.get('key', id), null);
      assert.equal(await store.keyBySecret(sha), null);
      assert.deepEqual(await store.remove('key', id, 2), { kind: 'stale', current: null });
      assert.deepEqual(await store.put('key', id, fields, 2), { kind: 'stale', current: null });
      assert.equal(writtenOf(await store.put('key', id, fields, 0)).version, 1);
    });

    test('stages and the roll-out are records as others are', async () => {
      const stage = { id: 'org/m:7b@b', upstreamModel: 'm', stage: 'gray', percent: 5, configured: 'gray' } as const;
      const made = writtenOf(await store.put('deployment', stage.id, stage, 0));
      assert.deepEqual(await other.get('deployment', stage.id), made);
      assert.equal((await store.put('deployment', stage.id, stage, 0)).kind, 'stale');
      const rollout = {
        id: 'current',
        rollout: 'rollout_1',
        percent: 5,
        startAt: 1,
        endAt: 2,
        base: 'b',
        digest: 'd',
        text: 'version: 1 # "ä"\n',
        criteria: { errorIncrease: 0, p95Ratio: 1, minSamples: 10 },
        by: 'ops',
        status: 'running',
        reason: null,
      } as const;
      const begun = writtenOf(await store.put('rollout', 'current', rollout, 0));
      assert.deepEqual(await other.get('rollout', 'current'), begun);
      assert.ok((await store.list('deployment', { after: null, count: 10 })).some(({ id }) => id === stage.id));
    });

    test('kinds do not touch each other', async () => {
      const budget = {
        id: 'budget_00000000000000000001',
        tenant: 'kinds',
        businessLine: null,
        period: 'month' as const,
        amount: microUnits(Number.MAX_SAFE_INTEGER),
        currency: 'USD',
        alertsAt: [50, 100],
      };
      writtenOf(await store.put('budget', budget.id, budget, 0));
      writtenOf(await store.put('tenant', 'kinds', tenantFields('kinds'), 0));
      writtenOf(await store.put('line', 'kinds/a/b', lineFields('kinds', 'a/b'), 0));
      assert.equal((await other.get('budget', budget.id))?.amount, Number.MAX_SAFE_INTEGER);
      assert.equal((await other.get('tenant', 'kinds'))?.tier, 'standard');
      assert.equal((await other.get('line', 'kinds/a/b'))?.name, 'a/b');
      assert.equal(await store.get('line', 'kinds'), null);
      assert.equal(await store.get('key', budget.id), null);
    });

    test('of 100 writers at once one wins each version, and no write is lost', async () => {
      const id = freshId();
      const fields = keyFields(id, freshHash());
      const stores = harness.clients.map((client) => client.directory);
      const created = await Promise.all(
        Array.from({ length: 100 }, (_, i) => stores[i % 3]!.put('key', id, fields, 0)),
      );
      assert.equal(created.filter(({ kind }) => kind === 'written').length, 1);
      // Each adds its own tag, and tries again with what is there now.
      const add = async (i: number): Promise<void> => {
        let current = await stores[i % 3]!.get('key', id);
        for (;;) {
          assert.ok(current !== null);
          const { kind: _, version, createdAt: __, updatedAt: ___, ...rest } = current;
          const tags = { ...rest.tags, [`t${i}`]: 'x' };
          const result = await stores[i % 3]!.put('key', id, { ...rest, tags }, version);
          if (result.kind === 'written') return;
          ({ current } = result);
        }
      };
      await Promise.all(Array.from({ length: 100 }, (_, i) => add(i)));
      const last = await store.get('key', id);
      assert.deepEqual([Object.keys(last!.tags).length, last!.version], [101, 101]);
    });

    test('a key is found by its secret and by the one before, as long as it has them', async () => {
      const id = freshId();
      const [first, second, third] = [freshHash(), freshHash(), freshHash()];
      const found = async (): Promise<boolean[]> =>
        Promise.all([first, second, third].map(async (sha) => (await other.keyBySecret(sha))?.id === id));
      writtenOf(await store.put('key', id, keyFields(id, first), 0));
      assert.deepEqual(await found(), [true, false, false]);
      const until = NOON + 1000;
      writtenOf(await store.put('key', id, keyFields(id, second, { previous: { sha256: first, until } }), 1));
      assert.deepEqual(await found(), [true, true, false]);
      writtenOf(await store.put('key', id, keyFields(id, third, { previous: { sha256: second, until } }), 2));
      assert.deepEqual(await found(), [false, true, true]);
      assert.deepEqual(await store.keyBySecret(second), await store.get('key', id));
      // A secret opens one key: another's is refused, and nothing is written.
      const thief = freshId();
      for (const fields of [
        keyFields(thief, third),
        keyFields(thief, freshHash(), { previous: { sha256: second, until } }),
      ]) {
        await assert.rejects(store.put('key', thief, fields, 0), RangeError);
      }
      assert.equal(await store.get('key', thief), null);
      await store.remove('key', id, 3);
      assert.deepEqual(await found(), [false, false, false]);
      writtenOf(await store.put('key', thief, keyFields(thief, third), 0));
    });

    test('lists are in order of id, in pages, and of one tenant where asked', async () => {
      const names = ['b', 'a', 'a/x', 'é', 'z', '\u{1f600}', '\uffee', 'A', '0', 'a b', 'Z{x}\r\n\0'];
      for (const name of names) {
        writtenOf(await store.put('line', `list/${name}`, lineFields('list', name), 0));
        writtenOf(await store.put('line', `lis/${name}`, lineFields('lis', name), 0));
      }
      const inOrder = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      for (const count of [1, 3, 100]) {
        const seen: string[] = [];
        for (let after: string | null = null; ; after = `list/${seen.at(-1)}`) {
          const page: readonly RecordOf<'line'>[] = await other.list('line', { after, count, tenant: 'list' });
          if (page.length === 0) break;
          assert.ok(page.length <= count);
          seen.push(...page.map((record) => record.name));
        }
        assert.deepEqual(seen, inOrder);
      }
      const all = await store.list('line', { after: 'lis/', count: 1000 });
      assert.deepEqual(
        all.filter(({ tenant }) => tenant.startsWith('lis')).map(({ tenant, name: of }) => `${tenant}/${of}`),
        [...inOrder.map((of) => `lis/${of}`), ...inOrder.map((of) => `list/${of}`)],
      );
      assert.deepEqual(await store.list('line', { after: 'list/b', count: 0 }), []);
      assert.deepEqual(await store.list('line', { after: null, count: 9, tenant: 'nobody' }), []);
      // From where it was, also when that one is gone.
      await store.remove('line', 'list/b', 1);
      assert.equal((await store.list('line', { after: 'list/b', count: 1, tenant: 'list' }))[0]?.name, 'z');
    });

    test('a key that moves to another tenant is on its list alone', async () => {
      const [id, sha] = [freshId(), freshHash()];
      const listed = async (tenant: string) => (await store.list('key', { after: null, count: 9, tenant })).length;
      writtenOf(await store.put('key', id, keyFields(id, sha, { tenant: 'from:{x}' }), 0));
      assert.deepEqual([await listed('from:{x}'), await listed('to')], [1, 0]);
      writtenOf(await store.put('key', id, keyFields(id, sha, { tenant: 'to' }), 1));
      assert.deepEqual([await listed('from:{x}'), await listed('to')], [0, 1]);
      await store.remove('key', id, 2);
      assert.deepEqual([await listed('from:{x}'), await listed('to')], [0, 0]);
    });

    test('what could not be kept as it is, is refused', async () => {
      for (const id of ['', '\ud800', 'x'.repeat(2000)]) {
        await assert.rejects(store.put('tenant', id, tenantFields(id), 0), RangeError);
        await assert.rejects(store.remove('tenant', id, 1), RangeError);
      }
      const id = freshId();
      await assert.rejects(store.put('key', freshId(), keyFields(id, freshHash()), 0), RangeError);
      await assert.rejects(store.put('line', 'a/b/c', lineFields('a/b', 'c'), 0), RangeError);
      for (const version of [-1, 0.5, Number.NaN]) {
        await assert.rejects(store.put('key', id, keyFields(id, freshHash()), version), RangeError);
        await assert.rejects(store.remove('key', id, version), RangeError);
      }
    });

    test('writes are heard by another client within a second, until it stops', async () => {
      const heard: string[] = [];
      const late: string[] = [];
      const watching = other.watch((change) => heard.push(change === 'all' ? change : `${change.kind} ${change.id}`));
      const second = other.watch((change) => late.push(change === 'all' ? change : change.id));
      await sleep(300);
      heard.length = 0;
      const slowest: number[] = [];
      const id = freshId();
      const fields = keyFields(id, freshHash());
      for (const [expected, work] of [
        [`key ${id}`, () => store.put('key', id, fields, 0)],
        ['tenant heard:\r\n x', () => store.put('tenant', 'heard:\r\n x', tenantFields('heard:\r\n x'), 0)],
        [`key ${id}`, () => store.remove('key', id, 1)],
      ] as const) {
        const before = heard.length;
        const start = performance.now();
        assert.equal((await work()).kind, 'written');
        while (heard.length === before && performance.now() - start < 2000) await sleep(1);
        slowest.push(performance.now() - start);
        assert.equal(heard.at(-1), expected);
      }
      assert.ok(Math.max(...slowest) < 1000, slowest.join(' '));
      // What changed nothing is not told.
      await store.put('key', id, fields, 7);
      await sleep(50);
      assert.equal(heard.length, 3);
      assert.deepEqual(late.filter((change) => change !== 'all').length, 3);
      watching.close();
      await store.put('key', id, fields, 0);
      await sleep(50);
      assert.equal(heard.length, 3);
      assert.equal(late.at(-1), id);
      second.close();
    });
  });
}
