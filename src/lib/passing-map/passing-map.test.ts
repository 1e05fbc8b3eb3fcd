import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { PassingMap } from './passing-map.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;

test('it holds what a Map holds, in its order', () => {
  const step = fc.tuple(fc.constantFrom('set', 'take', 'get'), fc.nat(8));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const map = new Map<number, { readonly at: number }>();
      const passing = new PassingMap<number, { readonly at: number }>();
      for (const [at, [what, key]] of steps.entries()) {
        if (what === 'set') {
          const value = { at };
          map.set(key, value);
          passing.set(key, value);
        } else {
          assert.equal(what === 'get' ? passing.get(key) : passing.take(key), map.get(key));
          if (what === 'take') map.delete(key);
        }
        assert.equal(passing.size, map.size);
        assert.deepEqual([...passing.values()], [...map.values()]);
      }
    }),
  );
});

test('what is taken out while the values are looked at is not shown', () => {
  const passing = new PassingMap<string, { readonly name: string }>();
  for (const name of ['a', 'b', 'c']) passing.set(name, { name });
  const seen: string[] = [];
  for (const { name } of passing.values()) {
    seen.push(name);
    passing.take('a');
    passing.take('b');
  }
  assert.deepEqual(seen, ['a', 'c']);
});

test('what went is collected with the young, however long the map lives', () => {
  const passing = new PassingMap<number, readonly number[]>();
  let key = 0;
  const pass = (count: number): void => {
    for (const end = key + count; key < end; key += 1) {
      passing.set(
        key,
        Array.from({ length: 1000 }, (_, at) => at),
      );
      passing.take(key - 16);
    }
  };
  pass(64);
  // Puts the table of this moment into the old generation.
  collect();
  collect();
  const before = process.memoryUsage().heapUsed;
  // 32 MB.
  pass(4000);
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  const kept = process.memoryUsage().heapUsed - before;
  assert.ok(kept < 8e6, `${kept} bytes are kept`);
});
