import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { WorkerLive } from '../../core/ports/live.ts';
import type { SurgePolicy } from '../../core/surge.ts';
import { RateMeter } from './rate-meter.ts';
import { type SurgeWatch, watchSurge } from './watch-surge.ts';

const POLICY: SurgePolicy = {
  levels: [8000, 10_000, 12_000].map((above) => ({ above, largestN: 1, divert: null, bufferStreams: false })),
  leaveBelow: 0.85,
  leaveAfterMs: 10_000,
  exemptTiers: new Set(),
};
const TICK = 50;

test('the meter follows a step within three seconds, and counts what came between two looks', () => {
  const meter = new RateMeter(0);
  let rate = 0;
  for (let now = 250; now <= 3000; now += 250) {
    for (let count = 0; count < 250; count += 1) meter.arrived();
    rate = meter.tick(now);
  }
  assert.ok(Math.abs(rate - 1000) < 60, String(rate));
  assert.equal(meter.tick(3000), rate, 'no time, no news');
  for (let now = 3250; now <= 8000; now += 250) rate = meter.tick(now);
  assert.ok(rate < 10, String(rate));
});

/** Workers that publish every second and listen every half, out of step with one another, as in production. */
class Fleet {
  now = 0;
  readonly workers: readonly SurgeWatch[];
  readonly #said: (WorkerLive | null)[];
  /** Workers that are dead: nothing comes to them, and they say nothing. */
  readonly dead = new Set<number>();
  readonly #carry: number[];
  away = false;

  constructor(t: TestContext, count: number, { perServer = count }: { readonly perServer?: number } = {}) {
    this.workers = Array.from({ length: count }, () =>
      watchSurge({ policy: () => POLICY, workers: perServer, clock: { now: () => this.now }, everyMs: 1_000_000 }),
    );
    t.after(() => this.workers.forEach((worker) => worker.close()));
    this.#said = this.workers.map(() => null);
    this.#carry = this.workers.map(() => 0);
  }

  /** @param each - Called after every step with the level of each worker. */
  run(
    ms: number,
    rate: number,
    each: (levels: readonly number[]) => void = () => {},
    shares?: readonly number[],
  ): void {
    const { workers } = this;
    for (const end = this.now + ms; this.now < end;) {
      this.now += TICK;
      workers.forEach((worker, index) => {
        if (this.dead.has(index)) return;
        const due = (this.#carry[index] ?? 0) + (rate * (shares?.[index] ?? 1 / workers.length) * TICK) / 1000;
        for (let sent = 1; sent <= due; sent += 1) worker.arrived();
        this.#carry[index] = due % 1;
        const turn = this.now + index * 370;
        if (turn % 250 < TICK) worker.look();
        if (this.away) return;
        if (turn % 1000 < TICK)
          this.#said[index] = { replica: 'r', worker: index, at: this.now, surge: worker.word() } as WorkerLive;
        if (turn % 500 < TICK)
          worker.hear(this.#said.flatMap((word, at) => (word === null || at === index ? [] : word)));
      });
      each(workers.map((worker) => worker.level()));
    }
  }
}

test('decided within three seconds of a step, the same at all workers within two', (t) => {
  const fleet = new Fleet(t, 12, { perServer: 4 });
  fleet.run(10_000, 4000, (levels) => assert.deepEqual([...new Set(levels)], [0]));
  for (const [rate, expected] of [
    [9000, 1],
    [13_000, 3],
  ] as const) {
    const start = fleet.now;
    let first = Infinity;
    let last = 0;
    fleet.run(15_000, rate, (levels) => {
      if (levels.some((level) => level === expected)) first = Math.min(first, fleet.now);
      if (levels.some((level) => level !== expected)) last = fleet.now;
    });
    assert.ok(first - start <= 3000, `level ${expected} seen after ${first - start} ms`);
    assert.ok(last - first <= 2000, `level ${expected} everywhere ${last - first} ms later`);
  }
  const low = fleet.now;
  let out = 0;
  fleet.run(20_000, 2000, (levels) => (out = levels.every((level) => level === 0) && out === 0 ? fleet.now : out));
  assert.ok(out - low >= 10_000 && out - low < 15_500, `left after ${out - low} ms`);
});

test('a steady rate between leaving and entering changes nothing, whoever gets the requests', (t) => {
  const fleet = new Fleet(t, 3);
  fleet.run(10_000, 7800, (levels) => assert.deepEqual(levels, [0, 0, 0]), [0.8, 0.15, 0.05]);
  fleet.run(6000, 8600, () => {}, [0.8, 0.15, 0.05]);
  for (let second = 0; second <= 30; second += 1) {
    const moved = second / 30;
    const shares = [0.8 - 0.75 * moved, 0.15, 0.05 + 0.75 * moved];
    fleet.run(1000, 7400, (levels) => assert.deepEqual(levels, [1, 1, 1]), shares);
  }
});

test('a worker that dies is not counted twice for long, and the others go on with the true rate', (t) => {
  const fleet = new Fleet(t, 4);
  fleet.run(5000, 6000);
  fleet.dead.add(3);
  fleet.run(20_000, 6000, (levels) => assert.deepEqual(levels.slice(0, 3), [0, 0, 0]), [1 / 3, 1 / 3, 1 / 3, 0]);
  fleet.run(4000, 8400, () => {}, [1 / 3, 1 / 3, 1 / 3, 0]);
  assert.deepEqual(
    fleet.workers.slice(0, 3).map((worker) => worker.level()),
    [1, 1, 1],
  );
  fleet.dead.add(1).add(2);
  fleet.run(15_000, 6000, () => {}, [1, 0, 0, 0]);
  assert.equal(fleet.workers[0]?.level(), 0, 'alone, with its own rate');
});

test('without the store: its own rate times the workers that it knew of', (t) => {
  const fleet = new Fleet(t, 4, { perServer: 2 });
  fleet.run(5000, 4000);
  fleet.away = true;
  fleet.run(5000, 4000, (levels) => assert.deepEqual(levels, [0, 0, 0, 0]));
  fleet.run(8000, 9000);
  assert.deepEqual(
    fleet.workers.map((worker) => worker.level()),
    [1, 1, 1, 1],
  );
});

test('who never heard anybody reckons with the workers of its server', (t) => {
  const fleet = new Fleet(t, 2);
  fleet.away = true;
  fleet.run(5000, 9000);
  assert.deepEqual(
    fleet.workers.map((worker) => worker.level()),
    [1, 1],
  );
});

test('what others decided holds at once, within what the configuration knows; without one there is no level', (t) => {
  const seen: string[] = [];
  let policy: SurgePolicy | null = POLICY;
  const watch = watchSurge({
    policy: () => policy,
    workers: 1,
    clock: { now: () => 0 },
    onLook: ({ level, before }) => seen.push(`${before} ${level}`),
    everyMs: 1_000_000,
  });
  t.after(() => watch.close());
  const hear = (level: number): void =>
    watch.hear([{ replica: 'r', worker: 1, at: level, surge: { rate: 0, level } } as WorkerLive]);
  hear(2);
  assert.equal(watch.level(), 2);
  assert.deepEqual(watch.word(), { rate: 0, level: 0 }, 'it does not pass on what it heard as its own');
  hear(7);
  assert.equal(watch.level(), 3);
  policy = null;
  watch.look();
  assert.equal(watch.level(), 0);
  assert.deepEqual(seen, ['0 2', '2 3', '3 0']);
});
