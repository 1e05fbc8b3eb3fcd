import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Board } from './board.ts';
import { ASK, target } from './routing-kit.test.ts';
import { unreadOf, WarmKeys } from './warm-keys.ts';

const upTo = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

test('a chain is there as far as it was used; the end of the oldest is forgotten first', () => {
  const keys = new WarmKeys();
  keys.use([1, 2, 3], 5);
  assert.deepEqual([keys.match([1, 2, 3, 4]), keys.match([1, 9]), keys.match([2])], [3, 1, 1]);
  keys.use([1, 7, 8], 5);
  assert.deepEqual([keys.match([1, 2, 3]), keys.match([1, 7, 8]), keys.size], [3, 3, 5]);
  keys.use([10], 5);
  assert.deepEqual([keys.match([1, 2, 3]), keys.match([1, 7, 8]), keys.size], [2, 3, 5]);
  keys.drop([1, 7, 8], 1);
  assert.equal(keys.match([1, 7, 8]), 1);
  keys.trim(1);
  assert.equal(keys.size, 1);
});

test('as a list of what was used last, whatever is used', () => {
  // Chains of a tree: the key of a node says all of its path, as hashes of prefixes do.
  const chain = fc
    .array(fc.nat(2), { maxLength: 6 })
    .map((path) => path.map((_, at) => treeKey(path.slice(0, at + 1))));
  fc.assert(
    fc.property(fc.array(chain, { maxLength: 40 }), chain, fc.integer({ min: 1, max: 20 }), (used, asked, most) => {
      const keys = new WarmKeys();
      let model: number[] = [];
      for (const each of used) {
        keys.use(each, most);
        const latest = each.toReversed();
        model = [...model.filter((key) => !latest.includes(key)), ...latest].slice(-most);
      }
      const missing = asked.findIndex((key) => !model.includes(key));
      assert.equal(keys.match(asked), missing === -1 ? asked.length : missing);
      assert.equal(keys.size, model.length);
    }),
  );
});

function treeKey(path: readonly number[]): number {
  let key = 1;
  for (const step of path) key = key * 3 + step + 1;
  return key;
}

test('what is warm belongs to an incarnation, and is bounded for one and for all', () => {
  const board = new Board();
  const work = (keys: readonly number[]) => ({ ...ASK, warm: { keys, tokensAKey: 512 } });
  const one = target('a');
  board.begin(one, work(upTo(0, 10_000)), 0, 1e9);
  assert.equal(board.of(one).warm.size, 4096);
  assert.equal(board.of({ ...one, incarnation: 'a2' }).warm.size, 0);
  for (let at = 0; at < 199; at += 1) board.begin(target(`t${at}`), work(upTo(0, 5000)), 0, 1e9);
  board.sweep(1);
  let sum = board.of(one).warm.size;
  for (let at = 0; at < 199; at += 1) sum += board.of(target(`t${at}`)).warm.size;
  assert.ok(sum <= 262_144 && sum > 200_000, String(sum));
  const small = target('small', { warmRoom: 2 });
  board.begin(small, work([1, 2, 3]), 0, 1e9);
  assert.equal(board.of(small).warm.match([1, 2, 3]), 2);
});

test('a try that brought nothing leaves what was warm before it, and no more', () => {
  const board = new Board();
  const one = target('a');
  const warm = (): number => board.of(one).warm.match([1, 2, 3]);
  const begin = (keys: readonly number[]) =>
    board.begin(one, { ...ASK, promptTokens: 1700, warm: { keys, tokensAKey: 512 } }, 0, 1e9);
  board.end(begin([1]), { kind: 'served', tokens: 1 }, 1);
  const failing = begin([1, 2, 3]);
  assert.deepEqual([warm(), failing.lease.unreadTokens], [3, 1700 - 512]);
  board.end(failing, { kind: 'failed' }, 2);
  assert.equal(warm(), 1);
  const broken = begin([1, 2, 3]);
  board.firstToken(broken, 3);
  board.end(broken, { kind: 'failed' }, 4);
  assert.equal(warm(), 3);
  assert.equal(unreadOf(100, { keys: [], tokensAKey: 512 }, 3), 0);
});
