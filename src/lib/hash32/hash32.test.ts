import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fnv1a, mixed } from './hash32.ts';

test('FNV-1a and the finish of MurmurHash3 give the published values', () => {
  assert.deepEqual(['', 'a', 'foobar'].map(fnv1a), [0x811c9dc5, 0xe40c292c, 0xbf9cf968]);
  assert.deepEqual([0, 1].map(mixed), [0, 0x514e28b7]);
});
