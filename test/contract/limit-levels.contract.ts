import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Amounts, LimitLine, LimitWindow } from '../../src/core/limit.ts';
import type { AdmitResult } from '../../src/core/ports/quota-store.ts';
import type { Stores } from '../../src/store/stores.ts';
import { DAY, MONTH, SLIDING_MINUTE, event, freshTenant, line, operation } from './quota-harness.ts';
import type { Harness } from './quota-harness.ts';

const NOON = Date.UTC(2028, 1, 29, 12, 0, 0);
const LEASE = 30_000;
const OPEN: LimitWindow = { kind: 'concurrent' };
const day = (zone: string): LimitWindow => ({ kind: 'calendar', unit: 'day', zone });
const month = (zone: string): LimitWindow => ({ kind: 'calendar', unit: 'month', zone });

/** Limits of all units and windows, at all levels. */
export function testLimitLevels(name: string, open: () => Promise<Harness>): void {
  describe(`limits at every level: ${name}`, () => {
    let harness: Harness;
    let stores: Stores;
    before(async () => {
      harness = await open();
      stores = harness.clients[0];
    });
    after(() => harness.close());

    const admit = (
      tenant: string,
      lines: readonly LimitLine[],
      amounts: Partial<Amounts>,
      { id = operation(), charge = false, client = stores, leaseMs = LEASE } = {},
    ) =>
      client.quota.admit({
        operation: id,
        tenant,
        lines,
        amounts: { requests: 1, tokens: 0, ...amounts },
        leaseMs,
        onExpiry: charge ? event(id, amounts.tokens ?? 0) : null,
      });
    const settle = (tenant: string, id: ReturnType<typeof operation>, actual: Partial<Amounts>) =>
      stores.quota.settle({ operation: id, tenant, actual: { requests: 1, tokens: 0, ...actual }, events: [] });
    const used = async (tenant: string, lines: readonly LimitLine[]): Promise<number[]> =>
      (await stores.quota.peek(tenant, lines)).map(({ line: { limit }, remaining }) => limit - remaining);

    test('room for exactly k of 200 at once, from three clients, whichever level is the tightest (P10)', async () => {
      await harness.setTime(NOON);
      const levels = ['tenant', 'line:search', 'key:key_0123', 'subject:ann', 'model:m'];
      const kinds = [
        ['tokens', DAY, 10],
        ['tokens', month('Asia/Shanghai'), 10],
        ['requests', SLIDING_MINUTE, 1],
        ['tokens', SLIDING_MINUTE, 10],
        ['requests', OPEN, 1],
        ['spend', day('America/New_York'), 70],
        ['spend', MONTH, 70],
      ] as const;
      const all = levels.flatMap((scope) => kinds.map(([unit, window, each]) => ({ scope, unit, window, each })));
      for (const [round, tightest] of all.entries()) {
        const tenant = freshTenant();
        const k = 3 + ((round * 37) % 180);
        // All have room for more, and one of them for k and a bit less than one more.
        const lines = all.map((of) =>
          line(
            of.unit,
            of.window,
            of === tightest ? k * of.each + of.each - 1 : (k + 1 + (round % 7)) * of.each,
            of.scope,
          ),
        );
        const amounts = { requests: 1, tokens: 10, spend: 70 };
        const results = await Promise.all(
          Array.from({ length: 200 }, (_, i) => admit(tenant, lines, amounts, { client: harness.clients[i % 3]! })),
        );
        const held = results.filter(({ kind }) => kind === 'held').length;
        assert.equal(held, k, JSON.stringify(tightest));
        for (const result of results) {
          if (result.kind === 'denied') assert.deepEqual(result.by.line, lines[round]);
        }
        assert.deepEqual(
          await used(tenant, lines),
          all.map(({ each }) => k * each),
        );
      }
    });

    test('the longest wait is told when several levels refuse', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [
        line('requests', OPEN, 0),
        line('requests', SLIDING_MINUTE, 0),
        line('spend', day('Asia/Shanghai'), 0),
        line('spend', DAY, 0),
      ];
      const wait = async (of: readonly LimitLine[]) => deniedOf(await admit(tenant, of, { spend: 1 })).retryAfterMs;
      assert.equal(await wait(lines.slice(0, 1)), 1000);
      assert.equal(await wait(lines.slice(0, 2)), 60_000);
      assert.equal(await wait(lines.slice(0, 3)), 4 * 3_600_000);
      assert.equal(await wait(lines), 12 * 3_600_000);
    });

    test('spend is reserved, and replaced by the true cost', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [
        line('spend', DAY, 1000),
        line('spend', SLIDING_MINUTE, 1000),
        line('spend', MONTH, 1000, 'key:k'),
      ];
      const [dear, cheap, none] = [operation(), operation(), operation()];
      await admit(tenant, lines, { spend: 600 }, { id: dear });
      deniedOf(await admit(tenant, lines, { spend: 401 }));
      await admit(tenant, lines, { spend: 400 }, { id: cheap });
      // What is left out is 0, and fits a line that is full.
      await admit(tenant, lines, {}, { id: none });
      assert.deepEqual(await used(tenant, lines), [1000, 1000, 1000]);
      await settle(tenant, dear, { spend: 700 });
      await settle(tenant, cheap, { spend: 1 });
      await settle(tenant, none, {});
      assert.deepEqual(await used(tenant, lines), [701, 701, 701]);
      for (const spend of [0.5, -1, Number.MAX_SAFE_INTEGER + 1]) {
        await assert.rejects(admit(tenant, lines, { spend }), RangeError);
        await assert.rejects(settle(tenant, operation(), { spend }), RangeError);
      }
    });

    test('what is open is given back when it ends, once, whatever it cost', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('requests', OPEN, 2), line('tokens', OPEN, 100, 'model:m'), line('requests', DAY, 50)];
      const [a, b] = [operation(), operation()];
      const held = await admit(tenant, lines, { tokens: 30 }, { id: a });
      assert.deepEqual(
        held.limits.map(({ remaining, resetMs }) => [remaining, resetMs]),
        [
          [1, 1000],
          [70, 1000],
          [49, 12 * 3_600_000],
        ],
      );
      await admit(tenant, lines, { tokens: 70 }, { id: b });
      const denied = deniedOf(await admit(tenant, lines, { tokens: 1 }));
      assert.deepEqual([denied.by.line.window, denied.retryAfterMs], [OPEN, 1000]);
      assert.equal(await settle(tenant, a, { tokens: 999 }), 'settled');
      assert.equal(await settle(tenant, a, { tokens: 999 }), 'repeated');
      assert.deepEqual(await used(tenant, lines), [1, 70, 2]);
      await admit(tenant, lines, { tokens: 30 });
      await settle(tenant, b, { requests: 0 });
      assert.deepEqual(await used(tenant, lines), [1, 30, 2]);
    });

    test('a place that a crash left taken is free when its lease is over, without a sweep', async () => {
      for (const charge of [true, false]) {
        await harness.setTime(NOON);
        const tenant = freshTenant();
        const lines = [line('requests', OPEN, 60), line('tokens', DAY, 10_000)];
        const ids = Array.from({ length: 60 }, operation);
        for (const id of ids) await admit(tenant, lines, { tokens: 10 }, { id, charge });
        await harness.setTime(NOON + LEASE - 1);
        deniedOf(await admit(tenant, lines, {}));
        // One of them gives a sign of life.
        assert.equal(await stores.quota.renew(tenant, ids[7]!, LEASE), true);
        await harness.setTime(NOON + LEASE + 1);
        const results = await Promise.all(
          Array.from({ length: 90 }, (_, i) => admit(tenant, lines, {}, { client: harness.clients[i % 3]! })),
        );
        assert.equal(results.filter(({ kind }) => kind === 'held').length, 59);
        assert.deepEqual(await used(tenant, lines), [60, charge ? 600 : 10]);
        // Late: the place was given back already.
        assert.equal(await settle(tenant, ids[0]!, { tokens: 4 }), 'late');
        assert.equal(await settle(tenant, ids[7]!, { tokens: 4 }), 'settled');
        assert.deepEqual(await used(tenant, lines), [59, charge ? 588 : 8]);
        assert.equal((await stores.ledger.read(tenant, null, 1000)).length, charge ? 60 : 0);
        // Ended by an admission: told of all the same.
        assert.equal(harness.expired.filter((lease) => lease.tenant === tenant).length, 59);
      }
    });

    test('a sweep gives places back, of charged and of released leases', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('requests', OPEN, 9), line('tokens', OPEN, 90)];
      for (const charge of [true, false, true]) await admit(tenant, lines, { tokens: 10 }, { charge });
      const stays = operation();
      await admit(tenant, lines, { tokens: 20 }, { id: stays, leaseMs: 10 * LEASE });
      assert.deepEqual(await used(tenant, lines), [4, 50]);
      await harness.setTime(NOON + LEASE + 20_000);
      await stores.quota.sweep();
      assert.deepEqual(await used(tenant, lines), [1, 20]);
      await settle(tenant, stays, { tokens: 1 });
      assert.deepEqual(await used(tenant, lines), [0, 0]);
    });

    test('days and months of a zone begin with its clocks (P19)', async () => {
      for (const [zone, at, start, end] of [
        ['Europe/Berlin', '2027-03-28T12:00Z', '2027-03-27T23:00Z', '2027-03-28T22:00Z'],
        ['Europe/Berlin', '2027-10-31T12:00Z', '2027-10-30T22:00Z', '2027-10-31T23:00Z'],
        ['Africa/Cairo', '2027-04-30T12:00Z', '2027-04-29T22:00Z', '2027-04-30T21:00Z'],
        ['Asia/Kolkata', '2027-06-15T12:00Z', '2027-06-14T18:30Z', '2027-06-15T18:30Z'],
        ['Pacific/Auckland', '2027-04-04T00:00Z', '2027-04-03T11:00Z', '2027-04-04T12:00Z'],
      ] as const) {
        const tenant = freshTenant();
        const lines = [line('tokens', day(zone), 10)];
        const left = async (ms: number): Promise<number> => {
          await harness.setTime(ms);
          return (await stores.quota.peek(tenant, lines))[0]!.remaining;
        };
        await harness.setTime(Date.parse(at));
        const id = operation();
        const held = await admit(tenant, lines, { tokens: 7 }, { id });
        assert.equal(held.limits[0]!.resetMs, Date.parse(end) - Date.parse(at), zone);
        assert.equal(
          deniedOf(await admit(tenant, lines, { tokens: 4 })).retryAfterMs,
          Date.parse(end) - Date.parse(at),
        );
        assert.equal(await left(Date.parse(start)), 3);
        assert.equal(await left(Date.parse(end) - 1), 3);
        assert.equal(await left(Date.parse(start) - 1), 10);
        assert.equal(await left(Date.parse(end)), 10);
        // Settled on the next day: the day of the reservation is put right.
        await admit(tenant, lines, { tokens: 5 });
        await settle(tenant, id, { tokens: 2 });
        assert.equal(await left(Date.parse(end)), 5);
        assert.equal(await left(Date.parse(at)), 8);
      }
      const tenant = freshTenant();
      await harness.setTime(Date.parse('2027-03-31T21:59:59.999Z'));
      const held = await admit(tenant, [line('spend', month('Europe/Berlin'), 5)], { spend: 5 });
      assert.equal(held.limits[0]!.resetMs, 1);
    });

    test('a zone is part of a counter, UTC is the same as none, and no zone can break a key', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const [none, utc, berlin] = [
        line('tokens', DAY, 10),
        line('tokens', day('UTC'), 10),
        line('tokens', day('Europe/Berlin'), 10),
      ];
      await admit(tenant, [none, utc], { tokens: 4 });
      assert.deepEqual(await used(tenant, [none, utc, berlin]), [4, 4, 0]);
      await admit(tenant, [berlin], { tokens: 3 });
      assert.deepEqual(await used(tenant, [none, utc, berlin]), [4, 4, 3]);
      for (const zone of ['Mars/Olympus', '', 'UTC:{x}', '../../etc']) {
        await assert.rejects(admit(tenant, [line('tokens', day(zone), 1)], {}), RangeError);
        await assert.rejects(stores.quota.peek(tenant, [line('tokens', day(zone), 1)]), RangeError);
      }
    });
  });
}

function deniedOf(result: AdmitResult): AdmitResult & { readonly kind: 'denied' } {
  assert.ok(result.kind === 'denied');
  return result;
}
