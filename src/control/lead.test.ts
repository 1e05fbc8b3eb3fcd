import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaderLease } from '../core/ports/leader.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import { createMemoryLeaderLease } from '../store/memory/leader.ts';
import { silentLog } from './budgets/budget-kit.test.ts';
import { lead, type Leader, type LeadOptions } from './lead.ts';

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 600 && !holds(); i += 1) await sleep(5);
  assert.ok(holds(), 'did not come about');
}

interface Rig {
  readonly lease: LeaderLease;
  /** How often each one worked. */
  readonly rounds: Map<string, number>;
  readonly join: (holder: string, changes?: Partial<LeadOptions>) => Leader;
}

function rig(clock: LeadOptions['clock'] = { now: () => performance.now() }): Rig {
  const lease = createMemoryLeaderLease({ clock });
  const rounds = new Map<string, number>();
  return {
    lease,
    rounds,
    join: (holder, changes = {}) =>
      lead({
        lease,
        name: 'budgets',
        holder,
        clock,
        log: silentLog,
        work: async () => void rounds.set(holder, (rounds.get(holder) ?? 0) + 1),
        ttlMs: 60,
        roundMs: 15,
        ...changes,
      }),
  };
}

test('one of three leads, and hands over when it goes', async () => {
  const r = rig();
  // A machine that stands still for a moment must not end the lease.
  const all = ['a', 'b', 'c'].map((holder) => r.join(holder, { ttlMs: 5000 }));
  await until(() => [...r.rounds.values()].some((count) => count > 3));
  assert.equal(r.rounds.size, 1);
  const first = all.findIndex((each) => each.leading());
  await all[first]?.close();
  await until(() => r.rounds.size === 2);
  await Promise.all(all.map((each) => each.close()));
});

test('a leader that dies without a word is replaced in less than three seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let time = 0;
  const virtual = { now: () => time };
  const r = rig(virtual);
  // As it is by default: nobody renews for the one that died.
  await r.lease.hold('budgets', 'dead', 2000);
  time = 120;
  const heir = r.join('heir', { ttlMs: 2000, roundMs: 500 });
  for (; !r.rounds.has('heir') && time < 10_000; time += 10) {
    t.mock.timers.tick(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(time >= 1900 && time < 3000, `${time} ms`);
  await heir.close();
});

test('nobody works while the store is gone, and a failed round ends nothing', async () => {
  const r = rig();
  let gone = false;
  let broken = true;
  let tried = 0;
  const lease: LeaderLease = {
    hold: (...args) => (gone ? Promise.reject(new StoreUnavailable('gone')) : r.lease.hold(...args)),
    release: () => Promise.reject(new StoreUnavailable('gone')),
  };
  const one = r.join('a', {
    lease,
    work: async () => {
      tried += 1;
      if (broken) throw new Error('no');
    },
  });
  await until(() => tried > 2);
  broken = false;
  gone = true;
  await until(() => !one.leading());
  const before = tried;
  await sleep(60);
  assert.equal(tried, before);
  gone = false;
  await until(() => tried > before);
  await one.close();
});

test('an answer that comes when the lease may be over is not believed', async () => {
  const r = rig();
  const late: LeaderLease = {
    hold: async () => {
      await sleep(80);
      return true;
    },
    release: async () => {},
  };
  const one = r.join('a', { lease: late });
  await sleep(200);
  assert.equal(r.rounds.size, 0);
  assert.equal(one.leading(), false);
  await one.close();
});

test('a change is worked on at once, and rounds never overlap', async () => {
  const r = rig();
  let [running, rounds] = [0, 0];
  const one = r.join('a', {
    roundMs: 60_000,
    ttlMs: 120_000,
    work: async () => {
      running += 1;
      assert.equal(running, 1);
      await sleep(5);
      running -= 1;
      rounds += 1;
    },
  });
  await until(() => rounds === 1);
  for (let i = 0; i < 5; i += 1) one.wake();
  await until(() => rounds === 3);
  await sleep(30);
  assert.equal(rounds, 3);
  await one.close();
  one.wake();
  await sleep(20);
  assert.equal(rounds, 3);
});

test('what the work left running ends with the lead, before another one can have it', async () => {
  const r = rig();
  const order: string[] = [];
  const onLost = async (): Promise<void> => {
    await sleep(10);
    order.push('ended');
  };
  const leader = r.join('a', { onLost });
  await until(() => r.rounds.get('a') !== undefined);
  const lease = { ...r.lease };
  await leader.close();
  order.push('closed');
  assert.deepEqual(order, ['ended', 'closed']);
  assert.equal(await lease.hold('budgets', 'b', 60), true);
  const away = r.join('c', {
    onLost,
    lease: {
      ...r.lease,
      hold: async () => {
        if (r.rounds.get('c') === undefined) return true;
        throw new StoreUnavailable('away');
      },
    },
  });
  await until(() => order.length === 3);
  assert.equal(away.leading(), false);
  await away.close();
  assert.deepEqual(order.slice(2), ['ended']);
});
