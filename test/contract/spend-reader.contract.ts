import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { microUnits } from '../../src/core/money.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { Stores } from '../../src/store/stores.ts';
import { event, freshTenant, operation } from './quota-harness.ts';
import type { Harness } from './quota-harness.ts';

const HOUR = 3_600_000;
/** 21:00 in Berlin, where the ledger's day began at 23:00 UTC. */
const EVENING = Date.UTC(2028, 1, 29, 20, 30);
const BERLIN_DAY = Date.UTC(2028, 1, 28, 23);
const LEASE = 30_000;

/** Everything `SpendReader` promises, for any store whose ledger's days are those of Europe/Berlin. */
export function testSpendReader(name: string, open: (zone: string) => Promise<Harness>): void {
  describe(`spend reader: ${name}`, () => {
    let harness: Harness;
    let stores: Stores;
    before(async () => {
      harness = await open('Europe/Berlin');
      stores = harness.clients[0];
    });
    after(() => harness.close());

    const book = async (
      tenant: string,
      tokens: number,
      fields: Partial<LedgerEvent> = {},
      more: LedgerEvent[] = [],
    ) => {
      const id = operation();
      const own = event(id, tokens, { time: EVENING, ...fields });
      await stores.quota.settle({ operation: id, tenant, actual: { requests: 1, tokens }, events: [own, ...more] });
      return own;
    };
    const spend = (tenant: string | null, unit: 'hour' | 'day', by: Parameters<Stores['spend']['spend']>[0]['by']) =>
      stores.spend.spend({ tenant, unit, by, from: BERLIN_DAY - 24 * HOUR, to: BERLIN_DAY + 48 * HOUR });

    test('hours and days by every dimension, thrown-away tries apart, currencies never mixed', async () => {
      await harness.setTime(EVENING);
      const tenant = freshTenant();
      const gone = event(operation(), 7, { chargedTo: 'gateway', time: EVENING, backend: 'broken' });
      await book(tenant, 100, { model: 'm', cachedTokens: 40, completionTokens: 9 }, [gone]);
      await book(tenant, 10, { model: 'n', requestType: 'embed\t\n"', time: EVENING + HOUR });
      await book(tenant, 1, { model: 'n', businessLine: 'ads', time: EVENING + 3 * HOUR });
      await book(tenant, 1, { model: 'n', currency: 'EUR', time: EVENING + 3 * HOUR });
      const row = (at: number, keys: object, currency: string, numbers: readonly number[]) => {
        const [requests, promptTokens, cachedTokens, completionTokens, cost] = numbers;
        return { at, keys, currency, requests, promptTokens, cachedTokens, completionTokens, cost };
      };
      const first = Math.floor(EVENING / HOUR) * HOUR;
      assert.deepEqual(await spend(tenant, 'hour', ['model', 'charged_to']), [
        row(first, { model: 'm', charged_to: 'gateway' }, 'USD', [0, 7, 0, 0, 14]),
        row(first, { model: 'm', charged_to: 'tenant' }, 'USD', [1, 100, 40, 9, 200]),
        row(first + HOUR, { model: 'n', charged_to: 'tenant' }, 'USD', [1, 10, 0, 0, 20]),
        row(first + 3 * HOUR, { model: 'n', charged_to: 'tenant' }, 'EUR', [1, 1, 0, 0, 2]),
        row(first + 3 * HOUR, { model: 'n', charged_to: 'tenant' }, 'USD', [1, 1, 0, 0, 2]),
      ]);
      const next = BERLIN_DAY + 24 * HOUR;
      assert.deepEqual(await spend(tenant, 'day', []), [
        row(BERLIN_DAY, {}, 'USD', [2, 117, 40, 9, 234]),
        row(next, {}, 'EUR', [1, 1, 0, 0, 2]),
        row(next, {}, 'USD', [1, 1, 0, 0, 2]),
      ]);
      const rows = await spend(tenant, 'day', [
        'backend',
        'business_line',
        'request_type',
        'tenant',
        'model',
        'charged_to',
      ]);
      assert.equal(rows.length, 5);
      assert.deepEqual(rows.find(({ keys }) => keys.request_type !== 'chat')?.keys, {
        backend: 'b',
        business_line: 'search',
        request_type: 'embed\t\n"',
        tenant,
        model: 'n',
        charged_to: 'tenant',
      });
      // The end is not part of it.
      const narrow = { tenant, unit: 'hour', by: [], from: first, to: first + HOUR } as const;
      assert.deepEqual(
        (await stores.spend.spend(narrow)).map(({ cost }) => cost),
        [214],
      );
      assert.deepEqual(await stores.spend.verify(tenant), []);
    });

    test('tenants are added up in one answer where none is named', async () => {
      await harness.setTime(EVENING);
      const all = await spend(null, 'day', ['business_line']);
      const [a, b] = [freshTenant(), freshTenant()];
      for (const tenant of [a, b]) await book(tenant, 50, { businessLine: 'only here' });
      const rows = await spend(null, 'day', ['business_line']);
      assert.deepEqual(
        rows.filter(({ keys }) => keys.business_line === 'only here').map(({ cost, requests }) => [cost, requests]),
        [[200, 2]],
      );
      assert.equal(rows.length, all.length + 1);
      const apart = await spend(null, 'day', ['tenant', 'business_line']);
      assert.deepEqual(
        new Set(apart.filter(({ keys }) => keys.business_line === 'only here').map(({ keys }) => keys.tenant)),
        new Set([a, b]),
      );
    });

    test('what a lease was charged is taken back by a late settlement, from the hour and day it was added to', async () => {
      await harness.setTime(EVENING);
      const tenant = freshTenant();
      const id = operation();
      const estimate = event(id, 1000, { model: 'estimated', time: EVENING, estimated: true });
      const amounts = { requests: 1, tokens: 1000 };
      await stores.quota.admit({ operation: id, tenant, lines: [], amounts, leaseMs: LEASE, onExpiry: estimate });
      await harness.setTime(EVENING + 4 * HOUR);
      await stores.quota.sweep();
      const costs = async () =>
        (await spend(tenant, 'day', ['model'])).map(({ at, keys, cost, requests }) => [at, keys.model, cost, requests]);
      assert.deepEqual(await costs(), [[BERLIN_DAY, 'estimated', 2000, 1]]);
      assert.equal((await stores.spend.top({ tenant, day: BERLIN_DAY, count: 5 }))[0]?.model, 'estimated');
      const late = { operation: id, tenant, actual: amounts, events: [event(id, 3, { time: EVENING + 4 * HOUR })] };
      assert.equal(await stores.quota.settle(late), 'late');
      assert.equal(await stores.quota.settle(late), 'repeated');
      assert.deepEqual(await costs(), [[BERLIN_DAY + 24 * HOUR, 'm', 6, 1]]);
      assert.deepEqual(await stores.spend.top({ tenant, day: BERLIN_DAY, count: 5 }), []);
      assert.deepEqual(await stores.spend.verify(tenant), []);
    });

    test('the dearest requests of a day, bounded, of one tenant or of all', async () => {
      await harness.setTime(EVENING);
      const [a, b] = [freshTenant(), freshTenant()];
      const dear = 2 ** 50;
      for (let i = 0; i < 230; i += 1) await book(a, i, { cost: microUnits(dear + ((i * 101) % 230)) });
      const own = await book(b, 5, { cost: microUnits(Number.MAX_SAFE_INTEGER), completionTokens: 6 });
      await book(b, 5, { cost: microUnits(dear), time: EVENING + 4 * HOUR });
      const costs = async (tenant: string | null, count: number, day = EVENING) =>
        (await stores.spend.top({ tenant, day, count })).map(({ cost }) => cost);
      assert.deepEqual(await costs(a, 3), [dear + 229, dear + 228, dear + 227]);
      assert.deepEqual(
        await costs(a, 1000),
        Array.from({ length: 200 }, (_, i) => dear + 229 - i),
      );
      assert.deepEqual(await costs(null, 2), [Number.MAX_SAFE_INTEGER, dear + 229]);
      assert.deepEqual(await costs(b, 9, EVENING + 4 * HOUR), [dear]);
      assert.deepEqual(await costs(a, 0), []);
      assert.deepEqual((await stores.spend.top({ tenant: b, day: BERLIN_DAY, count: 1 }))[0], {
        requestId: own.requestId,
        tenant: b,
        model: 'm',
        backend: 'b',
        businessLine: 'search',
        time: EVENING,
        totalTokens: 11,
        cost: own.cost,
        currency: 'USD',
      });
    });

    test('rows without end are added up as others, and the sums stay right', async () => {
      await harness.setTime(EVENING);
      const tenant = freshTenant();
      const rows = 5100;
      const id = operation();
      const events = Array.from({ length: rows }, (_, i) =>
        event(id, 1, { time: EVENING, businessLine: `made up ${i}` }),
      );
      for (let i = 0; i < rows; i += 300) {
        const part = {
          operation: operation(),
          tenant,
          actual: { requests: 0, tokens: 0 },
          events: events.slice(i, i + 300),
        };
        await stores.quota.settle(part);
      }
      const lines = await spend(tenant, 'day', ['business_line']);
      assert.equal(lines.length, 5001);
      assert.equal(lines.find(({ keys }) => keys.business_line === '*')?.requests, 100);
      assert.deepEqual(
        (await spend(tenant, 'day', [])).map(({ cost, requests }) => [cost, requests]),
        [[2 * rows, rows]],
      );
      assert.deepEqual(await stores.spend.verify(tenant), []);
    });

    test('a comparison while events are booked finds no difference', async () => {
      await harness.setTime(EVENING);
      const tenant = freshTenant();
      let over = false;
      const writers = [0, 1, 2].map(async (client) => {
        for (let i = 0; !over && i < 5000; i += 1) {
          const id = operation();
          const events = [event(id, i, { time: EVENING - (i % 50) * HOUR, model: `m${i % 3}` })];
          await harness.clients[client]!.quota.settle({
            operation: id,
            tenant,
            actual: { requests: 1, tokens: i },
            events,
          });
          if (i % 10 === 0) await new Promise(setImmediate);
        }
      });
      for (let i = 0; i < 3; i += 1) assert.deepEqual(await stores.spend.verify(tenant), []);
      over = true;
      await Promise.all(writers);
      assert.deepEqual(await stores.spend.verify(tenant), []);
    });

    test('what is no question is refused', async () => {
      const query = { tenant: null, unit: 'hour', by: [], from: 0, to: 1 } as const;
      for (const wrong of [{ from: Number.NaN }, { to: Number.POSITIVE_INFINITY }, { to: 10 ** 12 }]) {
        await assert.rejects(stores.spend.spend({ ...query, ...wrong }), RangeError);
      }
      for (const count of [-1, 0.5])
        await assert.rejects(stores.spend.top({ tenant: null, day: 0, count }), RangeError);
      assert.deepEqual(await stores.spend.spend({ ...query, from: 5, to: 5 }), []);
    });
  });
}
