import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { RateShareStore, RateWish } from '../core/ports/rate-shares.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createMemoryRateShares } from '../../test/support/memory-rate-shares.ts';
import { followLimits } from './follow-limits.ts';
import { waitUntil } from './wait-until.ts';

const WISH: RateWish = { name: 'r', rate: 10, demand: 4, held: 0 };

function follow(t: TestContext, store: RateShareStore | null, wanted: readonly RateWish[] = [WISH]) {
  const clock = { at: 0, now: () => clock.at };
  const granted: (readonly number[])[] = [];
  const rates = { wishes: () => wanted, grant: (shares: readonly number[]) => void granted.push(shares) };
  const limits = followLimits({
    config: () => ({}) as Snapshot,
    trial: () => null,
    gateway: { limits: { rates, tick: () => {} } as never },
    store,
    holder: 'h',
    clock,
    everyMs: 5,
    mostMs: 100,
  });
  t.after(() => limits.close());
  return { clock, granted, limits };
}

test('it waits for its shares while the table is new, and never again', async (t) => {
  const times = { at: 1000, time: () => times.at };
  const store = createMemoryRateShares({ clock: times });
  const { granted, limits } = follow(t, store);
  assert.ok(await waitUntil(async () => granted.length > 1, { timeoutMs: 5000 }));
  assert.match(limits.waitsFor() ?? '', /^limits: /);
  times.at += 4000;
  assert.ok(await waitUntil(async () => limits.waitsFor() === null, { timeoutMs: 5000 }));
  assert.ok((granted.at(-1)?.[0] ?? 0) > 0);
  store.lose();
  const before = granted.length;
  assert.ok(await waitUntil(async () => granted.length > before + 1, { timeoutMs: 5000 }));
  assert.equal(limits.waitsFor(), null);
});

test('it waits no longer than it must, whatever the store does', async (t) => {
  const away: RateShareStore = { renew: () => Promise.reject(new Error('away')), leave: async () => {} };
  const { clock, limits } = follow(t, away);
  clock.at = 99;
  assert.notEqual(limits.waitsFor(), null);
  clock.at = 100;
  assert.equal(limits.waitsFor(), null);
});

test('without rates, and where each goes by its own part, there is nothing to wait for', async (t) => {
  const none = follow(t, createMemoryRateShares({ clock: { time: () => 0 } }), []);
  assert.equal(none.limits.waitsFor(), null);
  const alone = follow(t, null, [{ ...WISH, held: 5 }]);
  assert.equal(alone.limits.waitsFor(), null);
});

test('while a part of the requests goes by a configuration on trial, its rates are wished for as well', async () => {
  const asked: (readonly number[])[] = [];
  const of = (generation: number): Snapshot => ({ generation }) as Snapshot;
  const rates = {
    wishes: (...configs: readonly Pick<Snapshot, 'generation'>[]) => {
      asked.push(configs.map(({ generation }) => generation));
      return [];
    },
    grant: () => {},
  };
  for (const trial of [null, of(2)]) {
    const limits = followLimits({
      config: () => of(1),
      trial: () => trial,
      gateway: { limits: { rates, tick: () => {} } as never },
      store: null,
      holder: 'h',
      clock: { now: () => 0 },
    });
    await limits.close();
  }
  assert.deepEqual(asked, [[1], [1, 2]]);
});
