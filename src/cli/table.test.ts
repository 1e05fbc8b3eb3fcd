import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { table } from './table.ts';

test('columns stand under their titles, numbers to the right', () => {
  const text = table(
    ['name', 'n'],
    [
      ['a', 5],
      ['long name', 1234],
    ],
  );
  assert.equal(text, ['name          n', '---------  ----', 'a             5', 'long name  1234'].join('\n'));
});

test('a column with one word among its numbers leans to the left', () => {
  assert.equal(table(['n'], [[1], ['many']]), ['n', '----', '1', 'many'].join('\n'));
});

test('nothing is written for what is not there', () => {
  assert.equal(table(['a', 'b'], []), 'a  b\n-  -');
  assert.equal(table(['a', 'b'], [[null, undefined], ['x']]), 'a  b\n-  -\n\nx');
});

test('letters of several code units take one place', () => {
  const [, rule, first, second] = table(
    ['x', 'y'],
    [
      ['é\u0301👩‍👩‍👧', 'end'],
      ['ab', 'end'],
    ],
  ).split('\n');
  assert.equal(rule, '--  ---');
  assert.ok(first?.endsWith('  end') && second === 'ab  end');
});

test('whatever stands in the cells, there is one line a row and nothing that moves the cursor', () => {
  const cell = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null));
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { maxLength: 6 }), (rows) => {
      const lines = table(['one', 'two'], rows).split('\n');
      assert.equal(lines.length, rows.length + 2);
      for (const line of lines) assert.doesNotMatch(line, /\p{Cc}/u);
    }),
  );
});
