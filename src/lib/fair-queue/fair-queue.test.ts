import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FairQueue, type Queued } from './fair-queue.ts';

interface Item extends Queued {
  readonly id: number;
}

const QUANTUM = 100;
let ids = 0;
const item = (flow: string, over: Partial<Item> = {}): Item => ({
  id: ids++,
  flow,
  lane: 0,
  cost: 100,
  deadline: 1000,
  bytes: 1,
  ...over,
});
const queueOf = (over: Partial<ConstructorParameters<typeof FairQueue>[0]> = {}): FairQueue<Item> =>
  new FairQueue({ quantum: QUANTUM, secondShare: 0.1, size: 1000, bytes: 1e9, ...over });
const anybody = (): boolean => true;

function drain(queue: FairQueue<Item>, most = Infinity): readonly Item[] {
  const out: Item[] = [];
  while (out.length < most) {
    const next = queue.next(anybody);
    if (next === null) break;
    queue.take(next);
    out.push(next);
  }
  return out;
}
const flows = (items: readonly Item[]): string => items.map(({ flow }) => flow).join('');

test('flows take turns, and of one flow who must go soonest goes first', () => {
  const queue = queueOf();
  for (const deadline of [30, 10, 20, 10]) queue.add(item('a', { deadline }));
  const last = item('b', { deadline: 99 });
  queue.add(last);
  const order = drain(queue);
  assert.equal(flows(order), 'abaaa');
  assert.deepEqual(
    order.filter(({ flow }) => flow === 'a').map(({ deadline }) => deadline),
    [10, 10, 20, 30],
  );
  assert.ok((order[0] as Item).id < (order[2] as Item).id, 'equals in order of arrival');
});

test('flows get equal amounts, not equal numbers', () => {
  const queue = queueOf();
  for (let count = 0; count < 30; count += 1) queue.add(item('L', { cost: 300 }));
  for (let count = 0; count < 90; count += 1) queue.add(item('s', { cost: 100 }));
  const order = drain(queue, 60);
  const got = (flow: string): number =>
    order.filter((each) => each.flow === flow).reduce((sum, { cost }) => sum + cost, 0);
  assert.ok(Math.abs(got('L') - got('s')) <= 400, `${got('L')} and ${got('s')}`);
});

test('who took little lately goes ahead of who takes all the time', () => {
  const queue = queueOf();
  for (let count = 0; count < 40; count += 1) queue.add(item('f'));
  queue.add(item('q'));
  drain(queue, 20);
  for (let count = 0; count < 5; count += 1) queue.add(item('q'));
  assert.match(flows(drain(queue, 6)), /^f?qqqqq/);
});

test('the second lane goes after the first, and gets its share all the same', () => {
  const queue = queueOf();
  for (let count = 0; count < 200; count += 1) queue.add(item('x', { lane: 1 }));
  for (let count = 0; count < 200; count += 1) queue.add(item('y'));
  const order = drain(queue, 100);
  const batch = order.filter(({ lane }) => lane === 1).length;
  assert.ok(batch >= 9 && batch <= 11, String(batch));
  assert.equal(flows(order.slice(0, 5)), 'yyyyy');
  const alone = queueOf();
  for (let count = 0; count < 20; count += 1) alone.add(item('x', { lane: 1 }));
  drain(alone, 10);
  for (let count = 0; count < 3; count += 1) alone.add(item('y'));
  assert.equal(flows(drain(alone, 3)), 'yyy', 'what it got alone is not held against the first');
});

test('when it is full, who has more of it makes room; alone it is full', () => {
  const queue = queueOf({ size: 4 });
  const mine = [1, 2, 3, 4].map((deadline) => item('f', { deadline }));
  for (const each of mine) assert.deepEqual(queue.add(each), []);
  assert.equal(queue.add(item('f')), null);
  assert.deepEqual(queue.add(item('q')), [mine[3]]);
  assert.deepEqual(queue.add(item('q')), [mine[2]]);
  assert.deepEqual(queue.add(item('q')), null, 'two and two: it would have more');
  assert.equal(queue.size, 4);
  const batch = queueOf({ size: 4 });
  const waiting = [1, 2, 3, 4].map((deadline) => item('x', { lane: 1, deadline }));
  for (const each of waiting) batch.add(each);
  for (const gone of [waiting[3], waiting[2], waiting[1]]) assert.deepEqual(batch.add(item('y')), [gone]);
  assert.equal(batch.add(item('y')), null, 'its share of the places is not taken');
});

test('bytes are a bound, too', () => {
  const queue = queueOf({ bytes: 10 });
  assert.equal(queue.add(item('a', { bytes: 11 })), null);
  const small = [item('a', { bytes: 5 }), item('a', { bytes: 5, deadline: 2000 })];
  for (const each of small) queue.add(each);
  assert.equal(queue.freeBytes, 0);
  assert.equal(queue.add(item('a', { bytes: 1 })), null);
  assert.deepEqual(queue.add(item('b', { bytes: 4 })), [small[1]]);
  assert.equal(queue.add(item('b', { bytes: 6 })), null, 'one and one: it would have more');
  assert.deepEqual([queue.size, queue.bytes], [2, 9], 'who was thought of as making room is still there');
});

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      flow: fc.constantFrom('a', 'b', 'c'),
      lane: fc.constantFrom(0 as const, 1 as const),
      cost: fc.integer({ min: 1, max: 400 }),
      deadline: fc.nat(9),
      bytes: fc.integer({ min: 1, max: 30 }),
      kind: fc.nat(2),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const), kind: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), pick: fc.nat(20) }) },
);

test('whatever happens: bounds hold, nothing is lost or given twice, flows keep their order, and nobody fits who is passed over', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 50, size: 'max' }), (size, script) => {
      const queue = new FairQueue<Item & { kind: number }>({ quantum: QUANTUM, secondShare: 0.2, size, bytes: 100 });
      const inside = new Set<Item & { kind: number }>();
      for (const move of script) {
        if (move.do === 'add') {
          const made = { ...item(move.flow, move), kind: move.kind };
          const out = queue.add(made);
          if (out !== null) {
            inside.add(made);
            for (const each of out) assert.ok(each !== made && inside.delete(each));
          }
        } else if (move.do === 'remove') {
          const [some] = [...inside].slice(move.pick);
          if (some !== undefined) {
            assert.equal(queue.remove(some), true);
            assert.equal(queue.remove(some), false);
            inside.delete(some);
          }
        } else {
          const fits = (each: { kind: number }): boolean => each.kind >= move.kind;
          const next = queue.next(fits);
          assert.equal(queue.next(fits), next, 'looking changes nothing');
          const able = [...inside].filter(fits);
          assert.equal(next === null, able.length === 0);
          if (next !== null) {
            assert.ok(able.includes(next));
            const mates = able.filter(({ flow, lane }) => flow === next.flow && lane === next.lane);
            assert.ok(mates.every(({ deadline }) => deadline >= next.deadline));
            queue.take(next);
            inside.delete(next);
          }
        }
        assert.equal(queue.size, inside.size);
        assert.ok(queue.size <= size && queue.bytes <= 100);
        assert.equal(
          queue.bytes,
          [...inside].reduce((sum, { bytes }) => sum + bytes, 0),
        );
        assert.deepEqual(new Set(queue), inside);
      }
    }),
    { numRuns: 10_000 },
  );
});

test('whatever waits: between flows that wait all the time no more than some quanta lie, in each lane, and the second gets its share', () => {
  const waiting = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(fc.array(waiting, { minLength: 2, maxLength: 4 }), waiting, (costs, batch) => {
      const queue = queueOf();
      for (const [flow, own] of costs.entries()) for (const cost of own) queue.add(item(String(flow), { cost }));
      for (const cost of batch) queue.add(item('z', { cost, lane: 1 }));
      const got = new Map<string, number>();
      const left = new Map(costs.map((own, flow) => [String(flow), own.length]));
      let [all, second] = [0, 0];
      for (;;) {
        const next = queue.next(anybody);
        if (next === null) break;
        queue.take(next);
        all += next.cost;
        if (next.lane === 1) second += next.cost;
        else {
          got.set(next.flow, (got.get(next.flow) ?? 0) + next.cost);
          left.set(next.flow, (left.get(next.flow) ?? 0) - 1);
          if ([...left.values()].some((count) => count === 0)) break;
        }
        const amounts = [...left.keys()].map((flow) => got.get(flow) ?? 0);
        assert.ok(Math.max(...amounts) - Math.min(...amounts) <= 2 * (QUANTUM + 300), String(amounts));
        // One that is dear is paid for first.
        assert.ok(second <= 0.1 * all + 300 && second >= 0.1 * all - 700, `${second} of ${all}`);
      }
    }),
    { numRuns: 500 },
  );
});
