import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBlockCache } from './block-cache.ts';
import { createModelShelf } from './model-shelf.ts';

test('only blocks from the first on count as a match', () => {
  const cache = createBlockCache({ capacity: 4 });
  cache.use([1, 2, 3]);
  assert.deepEqual(
    [cache.match([1, 2, 3, 9]), cache.match([1, 9, 3]), cache.match([9, 1]), cache.match([])],
    [3, 1, 0, 0],
  );
});

test('the least recently used goes first, the end of a prompt before its beginning', () => {
  const cache = createBlockCache({ capacity: 4 });
  cache.use([1, 2, 3]);
  cache.use([7, 8]);
  assert.equal(cache.size(), 4);
  assert.deepEqual([cache.match([1, 2, 3]), cache.match([7, 8])], [2, 2]);
  cache.use([1]);
  cache.use([9]);
  assert.deepEqual([cache.match([1, 2]), cache.match([7, 8])], [1, 2]);
});

test('a shelf gives up the model that was not used for longest', () => {
  const shelf = createModelShelf({ room: 2, loadMs: 100 });
  assert.deepEqual(shelf.use(1, 0), { isLoad: true, readyAt: 100 });
  assert.deepEqual(shelf.use(2, 10), { isLoad: true, readyAt: 110 });
  assert.deepEqual(shelf.use(1, 500), { isLoad: false, readyAt: 100 });
  assert.deepEqual(shelf.use(3, 600), { isLoad: true, readyAt: 700 });
  assert.deepEqual([shelf.has(1), shelf.has(2), shelf.has(3)], [true, false, true]);
});
