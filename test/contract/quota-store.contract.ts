import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { Amounts, LimitLine } from '../../src/core/limit.ts';
import type { AdmitResult } from '../../src/core/ports/quota-store.ts';
import type { Stores } from '../../src/store/stores.ts';
import { DAY, MONTH, SLIDING_MINUTE, event, freshTenant, line, operation } from './quota-harness.ts';
import type { Harness } from './quota-harness.ts';

const NOON = Date.UTC(2028, 1, 29, 12, 0, 0);
const LEASE = 30_000;
const MAX = Number.MAX_SAFE_INTEGER;

/** Everything the port promises, for any store. */
export function testQuotaStore(name: string, open: () => Promise<Harness>): void {
  describe(`quota store: ${name}`, () => {
    let harness: Harness;
    let stores: Stores;
    before(async () => {
      harness = await open();
      stores = harness.clients[0];
    });
    after(() => harness.close());

    const admit = (tenant: string, lines: readonly LimitLine[], amounts: Partial<Amounts>, id = operation()) =>
      stores.quota.admit({
        operation: id,
        tenant,
        lines,
        amounts: { requests: 1, tokens: 0, ...amounts },
        leaseMs: LEASE,
        onExpiry: null,
      });
    const settle = (tenant: string, id: ReturnType<typeof operation>, tokens: number, events?: LedgerEvent[]) =>
      stores.quota.settle({
        operation: id,
        tenant,
        actual: { requests: 1, tokens },
        events: events ?? [event(id, tokens)],
      });
    const expired = (tenant: string) => harness.expired.filter((lease) => lease.tenant === tenant);
    const used = async (tenant: string, of: LimitLine): Promise<number> => {
      const [state] = await stores.quota.peek(tenant, [of]);
      return of.limit - state!.remaining;
    };
    /** Ends what earlier tests left open. */
    const endAll = async (): Promise<void> => {
      await harness.setTime(NOON + 3_600_000);
      await stores.quota.sweep();
      assert.equal(await stores.ledger.open(), 0);
      await harness.setTime(NOON);
    };
    const ledger = async (tenant: string) => (await stores.ledger.read(tenant, null, 1000)).map((entry) => entry.event);

    test('takes from all lines and says what is left', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [
        line('requests', SLIDING_MINUTE, 10),
        line('tokens', SLIDING_MINUTE, 100),
        line('tokens', DAY, 1000),
        line('tokens', MONTH, 5000, 'subject:ann'),
      ];
      const result = await admit(tenant, lines, { tokens: 40 });
      assert.equal(result.kind, 'held');
      assert.deepEqual(
        result.limits.map(({ remaining, resetMs }) => [remaining, resetMs]),
        [
          [9, 61_000],
          [60, 61_000],
          [960, 12 * 3_600_000],
          [4960, 12 * 3_600_000],
        ],
      );
      assert.deepEqual(
        result.limits.map((state) => state.line),
        lines,
      );
      assert.deepEqual(await stores.quota.peek(tenant, lines), result.limits);
    });

    test('a refusal leaves every counter as it was and names the tightest line (RL-02)', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const minute = line('requests', SLIDING_MINUTE, 2);
      const day = line('tokens', DAY, 100);
      const lines = [minute, day];
      await admit(tenant, lines, { tokens: 60 });
      const before = await stores.quota.peek(tenant, lines);
      const denied = deniedOf(await admit(tenant, lines, { tokens: 41 }));
      assert.deepEqual(denied.by.line, day);
      assert.equal(denied.retryAfterMs, 12 * 3_600_000);
      assert.deepEqual(denied.limits, before);
      assert.deepEqual(await stores.quota.peek(tenant, lines), before);
      // The second of two requests a minute is still there.
      assert.equal((await admit(tenant, lines, { tokens: 40 })).kind, 'held');
      const both = deniedOf(await admit(tenant, lines, { tokens: 1 }));
      assert.deepEqual(both.by.line, day);
      assert.deepEqual(deniedOf(await admit(tenant, [minute], {})).by.line, minute);
    });

    test('room for exactly k of 200 at once, from three clients, on all lines or none (P10)', async () => {
      await harness.setTime(NOON);
      for (let round = 0; round < 20; round += 1) {
        const tenant = freshTenant();
        const room = 3 + ((round * 37) % 180);
        const lines = [
          line('tokens', SLIDING_MINUTE, 10_000),
          line('tokens', DAY, room * 10 + 9, 'subject:ann'),
          line('requests', SLIDING_MINUTE, 190),
        ];
        const results = await Promise.all(
          Array.from({ length: 200 }, (_, i) =>
            harness.clients[i % 3]!.quota.admit({
              operation: operation(),
              tenant,
              lines,
              amounts: { requests: 1, tokens: 10 },
              leaseMs: LEASE,
              onExpiry: null,
            }),
          ),
        );
        assert.equal(results.filter(({ kind }) => kind === 'held').length, room);
        assert.deepEqual(await Promise.all(lines.map((of) => used(tenant, of))), [room * 10, room * 10, room]);
      }
    });

    test('the same operation gets the first answer, held or denied (P11)', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('requests', SLIDING_MINUTE, 1)];
      const [a, b] = [operation(), operation()];
      const first = await admit(tenant, lines, {}, a);
      const refused = deniedOf(await admit(tenant, lines, {}, b));
      for (const client of harness.clients) {
        const again = { tenant, lines, amounts: { requests: 1, tokens: 0 }, leaseMs: LEASE, onExpiry: null };
        assert.deepEqual(await client.quota.admit({ operation: a, ...again }), first);
        assert.deepEqual(await client.quota.admit({ operation: b, ...again }), refused);
      }
      await settle(tenant, a, 5);
      assert.deepEqual(await admit(tenant, lines, {}, a), first);
      assert.equal(await used(tenant, lines[0]!), 1);
    });

    test('a settlement replaces the reservation, and its events are written once', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('tokens', SLIDING_MINUTE, 1000), line('tokens', DAY, 1000), line('requests', DAY, 10)];
      for (const [reserved, actual] of [
        [100, 30],
        [100, 170],
        [100, 100],
        [0, 20],
      ] as const) {
        const before = await used(tenant, lines[1]!);
        const id = operation();
        await admit(tenant, lines, { tokens: reserved }, id);
        assert.equal(
          await settle(tenant, id, actual, [event(id, actual), event(id, 7, { chargedTo: 'gateway' })]),
          'settled',
        );
        assert.equal(await settle(tenant, id, 999), 'repeated');
        assert.equal(await used(tenant, lines[0]!), before + actual);
        assert.equal(await used(tenant, lines[1]!), before + actual);
      }
      assert.equal(await used(tenant, lines[2]!), 4);
      const events = await ledger(tenant);
      assert.deepEqual(
        events.map(({ promptTokens }) => promptTokens),
        [30, 7, 170, 7, 100, 7, 20, 7],
      );
      assert.deepEqual(events[0], event(events[0]!.operation, 30));
    });

    test('zero releases, also requests', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('requests', SLIDING_MINUTE, 1), line('tokens', MONTH, 10)];
      const id = operation();
      await admit(tenant, lines, { tokens: 10 }, id);
      await stores.quota.settle({ operation: id, tenant, actual: { requests: 0, tokens: 0 }, events: [] });
      assert.deepEqual(
        (await stores.quota.peek(tenant, lines)).map(({ remaining, resetMs }) => [remaining, resetMs]),
        [
          [1, 0],
          [10, 0],
        ],
      );
      assert.equal((await admit(tenant, lines, { tokens: 10 })).kind, 'held');
    });

    test('without a reservation only the events are written; an admission that comes after takes nothing', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('tokens', DAY, 100)];
      const id = operation();
      assert.equal(await settle(tenant, id, 50), 'settled');
      assert.equal(await settle(tenant, id, 50), 'repeated');
      assert.equal((await admit(tenant, lines, { tokens: 80 }, id)).kind, 'held');
      assert.equal(await used(tenant, lines[0]!), 0);
      assert.equal((await ledger(tenant)).length, 1);
    });

    test('a refused operation can be settled with events of its own', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const id = operation();
      deniedOf(await admit(tenant, [line('requests', DAY, 0)], {}, id));
      assert.equal(await settle(tenant, id, 0, [event(id, 0, { attempt: 0 })]), 'settled');
      assert.equal(await settle(tenant, id, 0), 'repeated');
      assert.equal((await ledger(tenant)).length, 1);
    });

    test('a lease without a sign of life is charged by its event, and a late settlement puts it right (P12)', async () => {
      await endAll();
      const tenant = freshTenant();
      const lines = [line('tokens', SLIDING_MINUTE, 1000), line('tokens', DAY, 1000)];
      const id = operation();
      await stores.quota.admit({
        operation: id,
        tenant,
        lines,
        amounts: { requests: 1, tokens: 100 },
        leaseMs: LEASE,
        onExpiry: event(id, 100, { estimated: true }),
      });
      assert.equal(await stores.ledger.open(), 1);
      await harness.setTime(NOON + LEASE - 1);
      assert.equal(await stores.quota.sweep(), 0);
      assert.equal(await stores.quota.renew(tenant, id, LEASE), true);
      await harness.setTime(NOON + LEASE + 1);
      assert.equal(await stores.quota.sweep(), 0);
      await harness.setTime(NOON + 2 * LEASE + 15_000);
      const ended = await Promise.all(harness.clients.map((client) => client.quota.sweep()));
      assert.equal(
        ended.reduce((sum, count) => sum + count),
        1,
      );
      assert.deepEqual(expired(tenant), [{ tenant, operation: id, rule: 'charge' }]);
      assert.equal(await stores.ledger.open(), 0);
      assert.equal(await stores.quota.renew(tenant, id, LEASE), false);
      assert.deepEqual(await ledger(tenant), [event(id, 100, { estimated: true })]);
      assert.equal(await used(tenant, lines[1]!), 100);
      assert.equal(await settle(tenant, id, 30), 'late');
      assert.equal(await settle(tenant, id, 30), 'repeated');
      assert.equal(await used(tenant, lines[1]!), 30);
      const events = await ledger(tenant);
      assert.deepEqual(
        events.map(({ promptTokens, cost }) => [promptTokens, cost]),
        [
          [100, 200],
          [-100, -200],
          [30, 60],
        ],
      );
      assert.ok(events.every(({ cachedTokens }) => Object.is(cachedTokens, 0)));
    });

    test('a lease without an event is released, and a late settlement charges after all (P12)', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('tokens', SLIDING_MINUTE, 1000), line('tokens', DAY, 1000)];
      const id = operation();
      await admit(tenant, lines, { tokens: 100 }, id);
      await harness.setTime(NOON + LEASE + 1);
      await stores.quota.sweep();
      assert.deepEqual(expired(tenant), [{ tenant, operation: id, rule: 'release' }]);
      assert.deepEqual(await Promise.all(lines.map((of) => used(tenant, of))), [0, 0]);
      assert.deepEqual(await ledger(tenant), []);
      assert.equal(await settle(tenant, id, 30), 'late');
      assert.deepEqual(await Promise.all(lines.map((of) => used(tenant, of))), [30, 30]);
      assert.equal((await ledger(tenant)).length, 1);
    });

    test('a sweep ends many leases of many tenants, each once', async () => {
      await endAll();
      const [big, ...small] = Array.from({ length: 120 }, freshTenant);
      const day = line('requests', DAY, 1000);
      await Promise.all(Array.from({ length: 250 }, () => admit(big!, [day], {})));
      await Promise.all(small.map((tenant) => admit(tenant, [day], {})));
      await harness.setTime(NOON + LEASE);
      const ended = await Promise.all(harness.clients.map((client) => client.quota.sweep()));
      assert.equal(
        ended.reduce((sum, count) => sum + count),
        250 + small.length,
      );
      assert.equal(new Set(expired(big!).map(({ operation: of }) => of)).size, 250);
      assert.equal(expired(big!).length, 250);
      assert.equal(await used(big!, day), 0);
      assert.ok((await stores.ledger.tenants()).includes(big!));
    });

    test('no trailing minute holds more than the limit, and a full burst is free a second later (RL-04)', async () => {
      const tenant = freshTenant();
      const lines = [line('requests', SLIDING_MINUTE, 60)];
      const burst = async (at: number): Promise<number> => {
        await harness.setTime(at);
        const results = await Promise.all(Array.from({ length: 60 }, () => admit(tenant, lines, {})));
        return results.filter(({ kind }) => kind === 'held').length;
      };
      assert.equal(await burst(NOON + 59_000), 60);
      assert.equal(await burst(NOON + 60_500), 0);
      assert.equal(await burst(NOON + 59_000 + 60_999), 0);
      assert.equal(await burst(NOON + 121_600), 60);
    });

    test('the announced wait is enough, and one millisecond less is not', async () => {
      const tenant = freshTenant();
      const lines = [line('tokens', SLIDING_MINUTE, 100)];
      for (const [at, tokens] of [
        [0, 30],
        [10_250, 30],
        [20_999, 40],
      ] as const) {
        await harness.setTime(NOON + at);
        assert.equal((await admit(tenant, lines, { tokens })).kind, 'held');
      }
      for (const [tokens, until] of [
        [30, 61_000],
        [31, 71_000],
        [100, 81_000],
      ] as const) {
        await harness.setTime(NOON + 21_500);
        assert.equal(deniedOf(await admit(tenant, lines, { tokens })).retryAfterMs, until - 21_500);
        await harness.setTime(NOON + until - 1);
        deniedOf(await admit(tenant, lines, { tokens }));
      }
      await harness.setTime(NOON + 21_500);
      const never = deniedOf(await admit(tenant, lines, { tokens: 101 }));
      assert.equal(never.retryAfterMs, never.by.resetMs);
      await harness.setTime(NOON + 81_000);
      assert.equal((await admit(tenant, lines, { tokens: 100 })).kind, 'held');
      assert.equal(deniedOf(await admit(freshTenant(), lines, { tokens: 101 })).retryAfterMs, 60_000);
    });

    test('what a window has forgotten is not given back to it', async () => {
      const tenant = freshTenant();
      const minute = line('tokens', SLIDING_MINUTE, 100);
      await harness.setTime(NOON);
      const [early, later] = [operation(), operation()];
      await admit(tenant, [minute], { tokens: 60 }, early);
      await harness.setTime(NOON + 30_000);
      await admit(tenant, [minute], { tokens: 40 }, later);
      await harness.setTime(NOON + 61_000);
      await settle(tenant, early, 0);
      assert.equal(await used(tenant, minute), 40);
      await settle(tenant, later, 70);
      assert.equal(await used(tenant, minute), 70);
      // The 40 leave with their own second, the excess with the second it was settled in.
      await harness.setTime(NOON + 91_000);
      assert.equal(await used(tenant, minute), 30);
      await harness.setTime(NOON + 122_000);
      assert.equal(await used(tenant, minute), 0);
    });

    test('windows longer than ten minutes are exact to a six-hundredth, on the safe side', async () => {
      const tenant = freshTenant();
      const hour = line('tokens', { kind: 'sliding', seconds: 3600 }, 10);
      await harness.setTime(NOON + 5999);
      await admit(tenant, [hour], { tokens: 10 });
      await harness.setTime(NOON + 5999 + 3_600_000);
      assert.equal(await used(tenant, hour), 10);
      await harness.setTime(NOON + 3_606_000);
      assert.equal(await used(tenant, hour), 0);
    });

    test('days and months end at midnight UTC, leap days too (P19)', async () => {
      const tenant = freshTenant();
      const lines = [line('tokens', DAY, 10), line('tokens', MONTH, 20)];
      const left = async (at: number) => {
        await harness.setTime(at);
        return (await stores.quota.peek(tenant, lines)).map(({ remaining }) => remaining);
      };
      const id = operation();
      await harness.setTime(Date.UTC(2028, 1, 28, 23, 59, 59, 999));
      const held = await admit(tenant, lines, { tokens: 10 }, id);
      assert.deepEqual(
        held.limits.map(({ resetMs }) => resetMs),
        [1, 86_400_001],
      );
      assert.deepEqual(await left(Date.UTC(2028, 1, 29)), [10, 10]);
      const denied = deniedOf(await admit(tenant, lines, { tokens: 11 }));
      assert.deepEqual([denied.by.line, denied.retryAfterMs], [lines[0], 86_400_000]);
      // Settled on the next day: the day of the reservation is put right, not today.
      await settle(tenant, id, 4);
      assert.deepEqual(await left(Date.UTC(2028, 1, 29, 1)), [10, 16]);
      assert.deepEqual(await left(Date.UTC(2028, 1, 29, 23, 59, 59, 999)), [10, 16]);
      assert.deepEqual(await left(Date.UTC(2028, 2, 1)), [10, 20]);
      for (const [year, month] of [
        [2027, 12],
        [2028, 4],
        [2100, 2],
        [2096, 2],
      ] as const) {
        await harness.setTime(Date.UTC(year, month, 1) - 1);
        assert.equal(
          (await admit(freshTenant(), [lines[1]!], { tokens: 1 })).limits[0]!.resetMs,
          1,
          `${year}-${month}`,
        );
      }
    });

    test('a clock that steps back or forth never gives a window twice (P19)', async () => {
      const tenant = freshTenant();
      const lines = [line('tokens', SLIDING_MINUTE, 100)];
      await harness.setTime(NOON);
      await admit(tenant, lines, { tokens: 100 });
      await harness.setTime(NOON - 3_600_000);
      const denied = deniedOf(await admit(tenant, lines, { tokens: 1 }));
      assert.equal(denied.retryAfterMs, 3_600_000 + 61_000);
      await harness.setTime(NOON + 30_000);
      deniedOf(await admit(tenant, lines, { tokens: 1 }));
      await harness.setTime(NOON + 3_600_000);
      assert.equal((await admit(tenant, lines, { tokens: 100 })).kind, 'held');
      await harness.setTime(NOON + 61_000);
      deniedOf(await admit(tenant, lines, { tokens: 1 }));
      // What is taken while the clock is back counts with what was taken before the step.
      const other = freshTenant();
      await harness.setTime(NOON);
      await admit(other, lines, { tokens: 60 });
      await harness.setTime(NOON - 3_600_000);
      assert.equal((await admit(other, lines, { tokens: 40 })).kind, 'held');
      await harness.setTime(NOON + 1000);
      assert.equal(await used(other, lines[0]!), 100);
      await harness.setTime(NOON + 61_000);
      assert.equal(await used(other, lines[0]!), 0);
    });

    test('counts exactly up to 2^53 - 1 and refuses what is no whole number (P19)', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const lines = [line('tokens', SLIDING_MINUTE, MAX), line('tokens', DAY, MAX)];
      const id = operation();
      const held = await admit(tenant, lines, { tokens: MAX - 1 }, id);
      assert.deepEqual(
        held.limits.map(({ remaining }) => remaining),
        [1, 1],
      );
      deniedOf(await admit(tenant, lines, { tokens: 2 }));
      assert.equal((await admit(tenant, lines, { tokens: 1 })).kind, 'held');
      assert.deepEqual(await Promise.all(lines.map((of) => used(tenant, of))), [MAX, MAX]);
      // Above 2^53 a counter stands still.
      const unbounded = operation();
      await admit(tenant, lines, { tokens: 0 }, unbounded);
      await settle(tenant, unbounded, MAX, []);
      assert.deepEqual(await Promise.all(lines.map((of) => used(tenant, of))), [MAX, MAX]);
      await settle(tenant, id, MAX - 3, []);
      assert.deepEqual(await Promise.all(lines.map((of) => used(tenant, of))), [MAX - 2, MAX - 2]);
      for (const tokens of [0.5, -1, MAX + 1, Number.NaN]) {
        await assert.rejects(admit(tenant, lines, { tokens }), RangeError);
        await assert.rejects(settle(tenant, operation(), tokens, []), RangeError);
      }
      await assert.rejects(admit(tenant, [line('tokens', DAY, 1.5)], {}), RangeError);
      await assert.rejects(admit(tenant, [line('tokens', { kind: 'sliding', seconds: 0 }, 1)], {}), RangeError);
    });

    test('two lines on one counter take once and are both checked', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      const [wide, narrow] = [line('tokens', DAY, 100), line('tokens', DAY, 50)];
      const id = operation();
      const held = await admit(tenant, [wide, narrow], { tokens: 40 }, id);
      assert.deepEqual(
        held.limits.map(({ remaining }) => remaining),
        [60, 10],
      );
      assert.deepEqual(deniedOf(await admit(tenant, [wide, narrow], { tokens: 20 })).by.line, narrow);
      await settle(tenant, id, 10);
      assert.equal(await used(tenant, wide), 10);
    });

    test('scopes, units, windows and tenants do not touch each other', async () => {
      await harness.setTime(NOON);
      const [tenant, other] = [freshTenant(), freshTenant()];
      const all = ['tenant', 'subject:a', 'subject:a:b', 'subject:{a}', 'model:a', ''].flatMap((scope) =>
        [SLIDING_MINUTE, DAY, MONTH, { kind: 'sliding', seconds: 61 } as const].flatMap((window) =>
          (['tokens', 'requests'] as const).map((unit) => line(unit, window, 5, scope)),
        ),
      );
      for (const one of all) assert.equal((await admit(tenant, [one], { tokens: 5, requests: 5 })).kind, 'held');
      assert.ok((await stores.quota.peek(tenant, all)).every(({ remaining }) => remaining === 0));
      assert.ok((await stores.quota.peek(other, all)).every(({ remaining }) => remaining === 5));
      assert.deepEqual(await stores.quota.peek(tenant, []), []);
      assert.equal((await admit(tenant, [], { tokens: 5 })).kind, 'held');
    });

    test('the ledger is read in pages', async () => {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      for (let i = 0; i < 7; i += 1) await settle(tenant, operation(), i + 1);
      const seen: number[] = [];
      let at: string | null = null;
      for (;;) {
        const page = await stores.ledger.read(tenant, at, 3);
        if (page.length === 0) break;
        seen.push(...page.map((entry) => entry.event.promptTokens));
        at = page.at(-1)!.id;
      }
      assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7]);
      assert.deepEqual(await stores.ledger.read(freshTenant(), null, 10), []);
    });

    test('traces come back newest first', async () => {
      await harness.setTime(NOON);
      stores.traces.put('shown:{1}', '{"n":1}', 60_000);
      stores.traces.put('shown:{1}', '{"n":2}', 60_000);
      // Nobody waits for a trace to be written.
      for (let tries = 0; tries < 100 && (await stores.traces.get('shown:{1}')).length < 2; tries += 1) await sleep(10);
      assert.deepEqual(await stores.traces.get('shown:{1}'), [{ n: 2 }, { n: 1 }]);
      assert.deepEqual(await stores.traces.get('other'), []);
    });
  });
}

function deniedOf(result: AdmitResult): AdmitResult & { readonly kind: 'denied' } {
  assert.ok(result.kind === 'denied');
  return result;
}
