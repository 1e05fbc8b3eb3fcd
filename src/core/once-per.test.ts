import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oncePer } from './once-per.ts';

test('what is made of an object is made once, and again for another one that is alike', () => {
  const asked: object[] = [];
  const countAt = oncePer((of: readonly string[]) => asked.push(of));
  const [one, other] = [['a'], ['a']];
  assert.deepEqual([countAt(one), countAt(other), countAt(one)], [1, 2, 1]);
  assert.deepEqual(asked, [one, other]);
});
