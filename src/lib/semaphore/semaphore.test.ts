import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { type Acquired, createSemaphore, type Release } from './semaphore.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function held(outcome: Acquired | Promise<Acquired>): Release {
  assert.ok(!(outcome instanceof Promise) && outcome.kind === 'acquired');
  return outcome.release;
}

test('gives slots at once, then queues in order, then refuses', async () => {
  const semaphore = createSemaphore({ limit: 1, queue: 2 });
  const release = held(semaphore.acquire({ timeoutMs: 1000 }));
  const order: number[] = [];
  const wish = async (id: number): Promise<Release> => {
    const outcome = await semaphore.acquire({ timeoutMs: 1000 });
    order.push(id);
    assert.ok(outcome.kind === 'acquired');
    return outcome.release;
  };
  const second = wish(2);
  const third = wish(3);
  assert.deepEqual(semaphore.acquire({ timeoutMs: 1000 }), { kind: 'full' });
  assert.equal(semaphore.tryAcquire(), null);
  release();
  release();
  assert.deepEqual([semaphore.running, semaphore.waiting], [1, 1]);
  (await second)();
  (await third)();
  assert.deepEqual(order, [2, 3]);
  assert.deepEqual([semaphore.running, semaphore.waiting], [0, 0]);
});

test('waits end by time and by signal and leave nothing behind', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const semaphore = createSemaphore({ limit: 1, queue: 5 });
  const release = held(semaphore.acquire({ timeoutMs: 10 }));
  const controller = new AbortController();
  const timed = semaphore.acquire({ timeoutMs: 10 });
  const aborted = semaphore.acquire({ timeoutMs: 50, signal: controller.signal });
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1);
  t.mock.timers.tick(10);
  assert.deepEqual(await timed, { kind: 'timeout' });
  controller.abort();
  assert.deepEqual(await aborted, { kind: 'aborted' });
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  assert.deepEqual(semaphore.acquire({ timeoutMs: 50, signal: controller.signal }), { kind: 'aborted' });
  assert.deepEqual(semaphore.acquire({ timeoutMs: 0 }), { kind: 'timeout' });
  assert.equal(semaphore.waiting, 0);
  release();
  assert.equal(semaphore.running, 0);
  t.mock.timers.tick(1000);
  held(semaphore.acquire({ timeoutMs: 10 }))();
});

test('more slots go to who waits; fewer take none away', async () => {
  const semaphore = createSemaphore({ limit: 1, queue: 4 });
  const releases = [held(semaphore.acquire({ timeoutMs: 1000 }))];
  const waits = [1, 2, 3].map(() => semaphore.acquire({ timeoutMs: 1000 }));
  semaphore.resize(3, 0);
  assert.deepEqual([semaphore.running, semaphore.waiting], [3, 1]);
  assert.deepEqual(semaphore.acquire({ timeoutMs: 1000 }), { kind: 'full' });
  semaphore.resize(1, 4);
  for (const wait of waits.slice(0, 2)) releases.push(held(await wait));
  releases[0]?.();
  releases[1]?.();
  assert.deepEqual([semaphore.running, semaphore.waiting], [1, 1]);
  releases[2]?.();
  held((await waits[2]) ?? { kind: 'full' })();
  assert.equal(semaphore.running, 0);
});

test('refuses senseless bounds and keeps the old ones', () => {
  for (const bounds of [
    { limit: 0, queue: 1 },
    { limit: 1.5, queue: 1 },
    { limit: 1, queue: -1 },
    { limit: NaN, queue: 0 },
  ]) {
    assert.throws(() => createSemaphore(bounds), RangeError);
    const semaphore = createSemaphore({ limit: 1, queue: 0 });
    assert.throws(() => semaphore.resize(bounds.limit, bounds.queue), RangeError);
    semaphore.tryAcquire();
    assert.deepEqual(semaphore.acquire({ timeoutMs: 1 }), { kind: 'full' });
  }
});

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('acquire' as const), timeoutMs: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ do: fc.constant('try' as const) }),
    fc.record({ do: fc.constant('release' as const), pick: fc.nat(20) }),
    fc.record({ do: fc.constant('abort' as const), pick: fc.nat(20) }),
    fc.record({ do: fc.constant('tick' as const), ms: fc.integer({ min: 1, max: 15 }) }),
    fc.record({ do: fc.constant('resize' as const), limit: fc.integer({ min: 1, max: 4 }), queue: fc.nat(4) }),
  ),
  { maxLength: 60 },
);

test('whatever happens: bounds hold, order holds, no slot stays free while someone waits, none is lost', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.nat(4), steps, async (limit, queue, script) => {
      let most = limit;
      let current = limit;
      let last: readonly [number, number] = [0, 0];
      const semaphore = createSemaphore({ limit, queue, onChange: (running, waiting) => (last = [running, waiting]) });
      const slots: Release[] = [];
      const aborts: AbortController[] = [];
      const granted: number[] = [];
      let wishes = 0;
      const keep = (id: number, outcome: Acquired): void => {
        if (outcome.kind !== 'acquired') return;
        granted.push(id);
        slots.push(outcome.release);
      };
      for (const step of script) {
        if (step.do === 'acquire') {
          const controller = new AbortController();
          const id = wishes++;
          const outcome = semaphore.acquire({ timeoutMs: step.timeoutMs, signal: controller.signal });
          if (outcome instanceof Promise) {
            aborts.push(controller);
            void outcome.then((late) => keep(id, late));
          } else keep(id, outcome);
        } else if (step.do === 'try') {
          const id = wishes++;
          const release = semaphore.tryAcquire();
          if (release !== null) keep(id, { kind: 'acquired', release });
        } else if (step.do === 'release') slots[step.pick % Math.max(1, slots.length)]?.();
        else if (step.do === 'abort') aborts[step.pick % Math.max(1, aborts.length)]?.abort();
        else if (step.do === 'tick') t.mock.timers.tick(step.ms);
        else {
          semaphore.resize(step.limit, step.queue);
          current = step.limit;
          most = Math.max(most, current);
        }
        assert.ok(semaphore.running <= most);
        assert.ok(semaphore.waiting === 0 || semaphore.running >= current, 'a slot is free and someone waits');
        if (last[0] + last[1] > 0) assert.deepEqual(last, [semaphore.running, semaphore.waiting]);
        await settled();
      }
      assert.deepEqual(
        granted,
        granted.toSorted((a, b) => a - b),
        'in order of arrival',
      );
      t.mock.timers.tick(100);
      await settled();
      for (const release of slots) release();
      await settled();
      for (const release of slots) release();
      assert.deepEqual([semaphore.running, semaphore.waiting], [0, 0]);
    }),
    { numRuns: 300 },
  );
});
