import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { RATE_SHARE_TIMES, type RateShareStore } from '../../core/ports/rate-shares.ts';
import { createMemoryRateShares } from '../../../test/support/memory-rate-shares.ts';
import { followShares } from './follow-shares.ts';

const RATE = 1000;
const TICK_MS = 500;
const { keepMs, settleMs } = RATE_SHARE_TIMES;

/** The store as workers reach it: it may be away, and answers may be lost on their way. */
class Fleet {
  readonly clock = { at: 1_000_000, time: (): number => this.clock.at };
  readonly store = createMemoryRateShares({ clock: this.clock });
  readonly members = new Map<number, Member>();
  away = false;
  #ids = 0;

  join(demand: number): Member {
    const member = new Member(this.#ids++, demand, this);
    this.members.set(member.id, member);
    return member;
  }

  /** A tick of everybody, one after the other within it. */
  async tick(ms = TICK_MS): Promise<void> {
    const each = ms / (this.members.size + 1);
    for (const member of this.members.values()) {
      this.clock.at += each;
      await member.follower.renew();
      this.check();
    }
    this.clock.at += each;
  }

  get sum(): number {
    return [...this.members.values()].reduce((total, { held }) => total + held, 0);
  }

  check(): void {
    assert.ok(this.sum <= RATE + 1e-9, `${this.sum} of ${RATE}`);
  }
}

class Member {
  readonly id: number;
  demand: number;
  held = 0;
  /** The store does what it is asked, and nobody hears of it. */
  deaf = false;
  readonly follower: ReturnType<typeof followShares>;

  constructor(id: number, demand: number, fleet: Fleet) {
    this.id = id;
    this.demand = demand;
    const store: RateShareStore = {
      renew: async (holder, wishes) => {
        if (fleet.away) throw new Error('away');
        const shares = await fleet.store.renew(holder, wishes);
        if (this.deaf) throw new Error('late');
        return shares;
      },
      leave: (holder, names) => fleet.store.leave(holder, names),
    };
    this.follower = followShares({
      wishes: () => [{ name: 'r', rate: RATE, demand: this.demand, held: this.held }],
      grant: ([share = 0]) => (this.held = share),
      store,
      holder: `holder-${id}`,
    });
  }
}

async function ticks(fleet: Fleet, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += TICK_MS) await fleet.tick();
}

test('one alone gets what it asks for, and half of what is left over; all of it when it asks for more', async () => {
  const fleet = new Fleet();
  const one = fleet.join(200);
  await ticks(fleet, settleMs - TICK_MS);
  assert.equal(one.held, 0, 'nobody knows yet who else had a share');
  await ticks(fleet, 2 * TICK_MS);
  assert.equal(one.held, 600);
  one.demand = 5000;
  await ticks(fleet, 2 * TICK_MS);
  assert.equal(one.held, RATE);
});

test('shares follow demands within a second or two, who asks little gets it whole, and who comes gets its part', async () => {
  const fleet = new Fleet();
  const [busy, idle] = [fleet.join(9000), fleet.join(50)];
  await ticks(fleet, settleMs + 2000);
  assert.ok(busy.held >= 940 && idle.held === 50, `${busy.held} and ${idle.held}`);
  [busy.demand, idle.demand] = [50, 9000];
  await ticks(fleet, 2000);
  assert.ok(idle.held >= 940 && busy.held === 50, `${busy.held} and ${idle.held}`);
  const third = fleet.join(9000);
  await ticks(fleet, 2000);
  assert.ok(third.held >= 470 && idle.held >= 470);
});

test('who dies gives its share back in five seconds, who leaves at once', async () => {
  const fleet = new Fleet();
  const [stays, dies, leaves] = [fleet.join(9000), fleet.join(9000), fleet.join(9000)];
  await ticks(fleet, settleMs + 2000);
  fleet.members.delete(leaves.id);
  await leaves.follower.close();
  await ticks(fleet, 1000);
  assert.ok(stays.held >= 499, String(stays.held));
  fleet.members.delete(dies.id);
  await ticks(fleet, keepMs - 1000);
  assert.ok(stays.held <= 501, 'it may merely be slow');
  await ticks(fleet, 1500);
  assert.equal(stays.held, RATE);
});

test('while the store is away the last shares go on, and after it nobody gets what another one still has', async () => {
  for (const lost of [false, true]) {
    const fleet = new Fleet();
    const [one, two] = [fleet.join(9000), fleet.join(9000)];
    await ticks(fleet, settleMs + 2000);
    fleet.away = true;
    await ticks(fleet, 60_000);
    assert.deepEqual([one.held, two.held], [500, 500]);
    if (lost) fleet.store.lose();
    fleet.away = false;
    const newcomer = fleet.join(9000);
    two.deaf = true;
    await ticks(fleet, 2000);
    two.deaf = false;
    await ticks(fleet, 4000);
    assert.ok(
      [one, two, newcomer].every(({ held }) => held >= 333),
      `${one.held} ${two.held} ${newcomer.held}`,
    );
  }
});

test('without a store each goes by what it has', async () => {
  let granted: readonly number[] = [];
  const { renew, close } = followShares({
    wishes: () => [{ name: 'r', rate: 10, demand: 3, held: 5 }],
    grant: (shares) => (granted = shares),
    store: null,
    holder: 'me',
  });
  await renew();
  await close();
  assert.deepEqual(granted, [5]);
});

const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('tick' as const), count: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('join' as const), demand: fc.nat(3000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('demand' as const), who: fc.nat(9), demand: fc.nat(3000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('die' as const, 'leave' as const), who: fc.nat(9) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deaf' as const), who: fc.nat(9), ticks: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      ms: fc.integer({ min: 500, max: 30_000 }),
      lost: fc.boolean(),
    }),
  },
);

test('through joins, deaths and outages: the shares in use never add up to more than the rate, and in the end all is in use', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 14 }), async (script) => {
      const fleet = new Fleet();
      const pick = (who: number): Member | undefined =>
        [...fleet.members.values()][who % Math.max(1, fleet.members.size)];
      for (const step of script) {
        switch (step.do) {
          case 'tick':
            for (let count = 0; count < step.count; count += 1) await fleet.tick();
            break;
          case 'join':
            if (fleet.members.size < 6) fleet.join(step.demand);
            break;
          case 'demand': {
            const member = pick(step.who);
            if (member !== undefined) member.demand = step.demand;
            break;
          }
          case 'deaf': {
            const member = pick(step.who);
            if (member === undefined) break;
            member.deaf = true;
            for (let count = 0; count < step.ticks; count += 1) await fleet.tick();
            member.deaf = false;
            break;
          }
          case 'outage':
            fleet.away = true;
            await ticks(fleet, step.ms);
            if (step.lost) fleet.store.lose();
            fleet.away = false;
            break;
          case 'die':
          case 'leave': {
            const member = pick(step.who);
            if (member === undefined) break;
            fleet.members.delete(member.id);
            if (step.do === 'leave' && !fleet.away) await member.follower.close();
            break;
          }
        }
        fleet.check();
      }
      if (fleet.members.size === 0) return;
      for (const member of fleet.members.values()) member.demand = 5000;
      await ticks(fleet, keepMs + settleMs + 4000);
      assert.ok(fleet.sum >= RATE - 0.01, `${fleet.sum} after all`);
    }),
    { numRuns: 10_000 },
  );
});
