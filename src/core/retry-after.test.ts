import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeaderList } from './http.ts';
import { retryAfterMs } from './retry-after.ts';

const NOW = Date.UTC(2027, 0, 1);
const CASES: readonly (readonly [string, number | null])[] = [
  ['2', 2000],
  [' 0.25 ', 250],
  ['0', 0],
  ['Fri, 01 Jan 2027 00:00:05 GMT', 5000],
  ['Thu, 31 Dec 2026 00:00:00 GMT', 0],
  ['999999999', 86_400_000],
  ['Fri, 01 Jan 2099 00:00:00 GMT', 86_400_000],
  ['-1', null],
  ['soon', null],
  ['1e3', null],
  ['', null],
];

for (const [value, ms] of CASES)
  test(`retry-after: ${JSON.stringify(value)}`, () =>
    assert.equal(retryAfterMs(new HeaderList([['retry-after', value]]), NOW), ms));

test('no retry-after', () => assert.equal(retryAfterMs(new HeaderList([]), NOW), null));
