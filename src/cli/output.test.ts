import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bar, jsonText, renderRows, type Column } from './output.ts';

test('JSON means the same and steers no terminal', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\u001b', '\u009b', '\u202e', '\u2028', 'é', '😀') });
  fc.assert(
    fc.property(text, (value) => {
      const shown = jsonText({ value });
      assert.deepEqual(JSON.parse(shown), { value });
      assert.doesNotMatch(shown.slice(0, -1), /[\p{Cc}\u202a-\u202e\u2028]/u);
    }),
    { numRuns: 300 },
  );
});

test('what spreadsheets would run is text; negative numbers stay numbers', () => {
  const columns: Column<string>[] = [
    { title: 'T', name: 't', value: (row) => row },
    { title: 'eyes', name: null, value: () => 'x' },
  ];
  const rows = ['=1', '+1', '@x', '-x', '-1.5', 'a,b', 'say "x"', 'two\nlines'];
  assert.equal(
    renderRows({ format: 'csv', columns, rows }),
    `t\r\n'=1\r\n'+1\r\n'@x\r\n'-x\r\n-1.5\r\n"a,b"\r\n"say ""x"""\r\n"two\nlines"\r\n`,
  );
});

test('bars are full at their limit, and at a limit of nothing', () => {
  assert.equal(bar(0, 10), '[....................]   0 %');
  assert.equal(bar(999, 1000), '[###################.]  99 %');
  for (const [used, limit] of [
    [10, 10],
    [0, 0],
  ] as const)
    assert.equal(bar(used, limit), '[####################] 100 %');
  assert.match(bar(25, 10), /^\[#{20}\] 250 %$/);
  assert.match(bar(-5, 10), /^\[\.{20}\]/);
});
