/** A rate of the whole fleet, from the store to the buckets: what all workers let through, whatever becomes of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { followShares } from '../../src/control/rate-shares/follow-shares.ts';
import type { Deployment } from '../../src/core/snapshot.ts';
import { createMemoryRateShares } from '../support/memory-rate-shares.ts';
import type { Gate } from '../../src/stations/schedule/gate.ts';
import { Gates } from '../../src/stations/schedule/gates.ts';
import { deployment } from '../../src/stations/schedule/schedule-bench.ts';

const [RATE, BURST_MS, TOKENS, TICK_MS] = [1000, 1000, 10, 500];
const rates = { tokensPerSecond: RATE, requestsPerSecond: null, burstMs: BURST_MS };
const rated = { ...deployment('m'), rates } as Deployment;
const config = { generation: 1, models: new Map([['m', { deployments: [rated] }]]) } as never;
const nothing = (): void => {};

class Fleet {
  now = 1_000_000;
  away = false;
  readonly store = createMemoryRateShares({ clock: { time: () => this.now } });
  readonly members = new Map<
    number,
    { readonly gate: Gate; readonly renew: () => Promise<void>; readonly close: () => Promise<void> }
  >();
  /** Tokens that were let through, by time. */
  readonly log: { readonly at: number; readonly tokens: number }[] = [];
  #ids = 0;

  join(): void {
    const gates = new Gates({
      workers: 1,
      workerIndex: 0,
      metrics: { slots: nothing, rateShare: nothing },
      clock: { now: () => this.now },
      sharesRates: true,
      aliveOf: () => 1,
    });
    const follower = followShares({
      wishes: () => gates.wishes(config),
      grant: (shares) => gates.grant(shares),
      holder: `worker-${this.#ids}`,
      store: {
        renew: async (holder, wishes) => {
          if (this.away) throw new Error('away');
          return this.store.renew(holder, wishes);
        },
        leave: (holder, names) => this.store.leave(holder, names),
      },
    });
    const gate = gates.of(rated, 1);
    assert.ok(gate !== null);
    this.members.set(this.#ids++, { gate, ...follower });
  }

  /** Everybody asks for more than there is, some times in a tick, and renews his share. */
  async tick(): Promise<void> {
    for (let part = 0; part < 4; part += 1) {
      this.now += TICK_MS / 4;
      for (const { gate } of this.members.values()) {
        gate.asked(RATE);
        while (gate.enter(TOKENS) !== null) this.log.push({ at: this.now, tokens: TOKENS });
      }
    }
    for (const { renew } of this.members.values()) await renew();
  }

  taken(from: number, until: number): number {
    return this.log.reduce((sum, { at, tokens }) => (at > from && at <= until ? sum + tokens : sum), 0);
  }
}

const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('ticks' as const), count: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 3, arbitrary: fc.constant({ do: 'join' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('die' as const, 'leave' as const), who: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      ticks: fc.integer({ min: 1, max: 30 }),
      lost: fc.boolean(),
    }),
  },
);

test('through joins, deaths and outages all workers together let through no more than rate × time + burst', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 3, maxLength: 12 }), async (script) => {
      const fleet = new Fleet();
      const start = fleet.now;
      fleet.join();
      for (const step of script) {
        if (step.do === 'join') {
          if (fleet.members.size < 5) fleet.join();
        } else if (step.do === 'ticks') {
          for (let count = 0; count < step.count; count += 1) await fleet.tick();
        } else if (step.do === 'outage') {
          fleet.away = true;
          for (let count = 0; count < step.ticks; count += 1) await fleet.tick();
          if (step.lost) fleet.store.lose();
          fleet.away = false;
        } else {
          const [id, member] = [...fleet.members][step.who % Math.max(1, fleet.members.size)] ?? [];
          if (id === undefined || member === undefined) continue;
          fleet.members.delete(id);
          if (step.do === 'leave' && !fleet.away) await member.close();
        }
      }
      // Of every member one request may be larger than its part of the burst.
      const most = (RATE * BURST_MS) / 1000 + 5 * TOKENS;
      for (let from = start; from < fleet.now; from += 1000)
        for (let until = from + 1000; until <= fleet.now; until += 4000)
          assert.ok(fleet.taken(from, until) <= (RATE * (until - from)) / 1000 + most + 1e-6);
      if (fleet.members.size === 0) return;
      for (let count = 0; count < 24; count += 1) await fleet.tick();
      const since = fleet.now;
      for (let count = 0; count < 20; count += 1) await fleet.tick();
      const got = fleet.taken(since, fleet.now) / ((fleet.now - since) / 1000);
      assert.ok(got >= 0.97 * RATE, `${got} tokens a second in the end`);
    }),
    { numRuns: 500 },
  );
});
