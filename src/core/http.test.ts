import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeaderList } from './http.ts';
import { isPromise } from './maybe-promise.ts';

test('fields are found by name in their order, doubles and odd names included', () => {
  const list = new HeaderList([
    ['a', '1'],
    ['__proto__', 'p'],
    ['a', '2'],
    ['b', ''],
  ]);
  assert.equal(list.get('a'), '1');
  assert.deepEqual(list.all('a'), ['1', '2']);
  assert.equal(list.get('b'), '');
  assert.equal(list.get('__proto__'), 'p');
  assert.equal(list.get('constructor'), undefined);
  assert.deepEqual(list.all('c'), []);
  assert.deepEqual(list.names(), ['a', '__proto__', 'a', 'b']);
  assert.equal([...list].length, 4);
});

test('a promise is told from a value', () => {
  assert.equal(isPromise(Promise.resolve(1)), true);
  for (const value of [null, undefined, 0, '', {}, [], () => {}]) assert.equal(isPromise<unknown>(value), false);
});
