import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, suggest } from './suggest.ts';

test('near words are found, far ones are not', () => {
  const known = ['listen', 'limits', 'models', 'endpoints'];
  assert.equal(suggest('lisen', known), 'listen');
  assert.equal(suggest('lsiten', known), 'listen');
  assert.equal(suggest('Models', known), 'models');
  assert.equal(suggest('endpoint', known), 'endpoints');
  assert.equal(suggest('zzz', known), null);
  assert.equal(didYouMean('modles', known), ' Did you mean "models"?');
  assert.equal(didYouMean('x'.repeat(10_000), known), '');
});
