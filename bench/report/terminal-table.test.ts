import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdict } from './terminal-table.ts';

test('a goal says whether it is met, and why that is open', () => {
  assert.equal(verdict(undefined), '');
  assert.equal(verdict({ at_most: 1, median: 0.5, met: true }), '≤ 1: met');
  assert.equal(verdict({ at_least: 2, median: 1, met: false }), '≥ 2: **not met**');
  assert.equal(verdict({ at_least: 2, median: 2, met: null }), '≥ 2: unclear');
  assert.equal(verdict({ at_least: 2, median: 1, met: null, needs_cores: 6 }), '≥ 2: unclear here, asks for 6 cores');
});
