import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flatness } from './flatness.ts';

test('what a start has held and a peak count for nothing', () => {
  const flat = Array.from({ length: 100 }, (_, at) => (at < 20 ? at * 10 : at === 90 ? 500 : 200));
  assert.deepEqual(flatness(flat), { second_fifth: 200, last_fifth: 200, most: 500 });
});

test('what grows shows it', () => {
  const rising = Array.from({ length: 500 }, (_, at) => 100 + at);
  assert.deepEqual(flatness(rising), { second_fifth: 250, last_fifth: 550, most: 599 });
});
