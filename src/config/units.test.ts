import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as check, integer, property } from 'fast-check';
import { formatDuration, formatSize, parseDuration, parseSize } from './units.ts';

test('durations and sizes are read', () => {
  assert.equal(parseDuration('500ms'), 500);
  assert.equal(parseDuration('5s'), 5000);
  assert.equal(parseDuration('1.5m'), 90_000);
  assert.equal(parseDuration('1h'), 3_600_000);
  assert.equal(parseSize('8MiB'), 8_388_608);
  assert.equal(parseSize('64KiB'), 65_536);
  for (const text of ['5', '5 s', '-5s', 's', '', '5S', '1e3s', '5s5ms', '0x5s', '１s'])
    assert.equal(parseDuration(text), null, text);
  for (const text of ['8', '8MB', '8mib', '-1B', 'KiB']) assert.equal(parseSize(text), null, text);
});

test('what is written is read back', () => {
  check(
    property(integer({ min: 0, max: 10 ** 9 - 1 }), (value) => {
      assert.equal(parseDuration(formatDuration(value)), value);
      assert.equal(parseSize(formatSize(value)), value);
    }),
    { numRuns: 300 },
  );
  assert.equal(formatDuration(86_400_000), '1d');
});
