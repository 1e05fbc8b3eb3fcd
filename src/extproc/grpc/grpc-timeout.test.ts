import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGrpcTimeout } from './grpc-timeout.ts';

test('a timeout in each unit, none, and one that is too long for a timer', () => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['', null],
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3000],
    ['1000m', 1000],
    ['5u', 0.005],
    ['0n', 0],
    ['99999999S', null],
  ];
  for (const [text, wanted] of cases) assert.equal(parseGrpcTimeout(text), wanted, text);
});

test('what is no timeout', () => {
  for (const text of ['soon', '1', 'S', '1s', '-1S', '123456789S', '1.5S', ' 1S', '99999999999999H'])
    assert.ok(Number.isNaN(parseGrpcTimeout(text)), text);
});
