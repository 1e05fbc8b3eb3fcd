import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toError } from './to-error.ts';

test('an error is itself, anything else is said by one', () => {
  const error = new TypeError('no');
  assert.equal(toError(error), error);
  assert.equal(toError('gone').message, 'gone');
  assert.equal(toError(undefined).message, 'undefined');
});
