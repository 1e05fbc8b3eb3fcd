import assert from 'node:assert/strict';
import { test } from 'node:test';
// Loads the Redis client, and sets right what that does to strings.
import './connection.ts';

const TEXT = 'Reading a text unit by unit must cost what reading bytes costs. '.repeat(4096);
const BYTES = Buffer.from(TEXT);

function ofText(): number {
  let sum = 0;
  for (let at = 0; at < TEXT.length; at += 1) sum += TEXT.charCodeAt(at);
  return sum;
}

function ofBytes(): number {
  let sum = 0;
  for (let at = 0; at < BYTES.length; at += 1) sum += BYTES[at] ?? 0;
  return sum;
}

function best(work: () => number): number {
  let least = Infinity;
  for (let round = 0; round < 60; round += 1) {
    const began = performance.now();
    work();
    least = Math.min(least, performance.now() - began);
  }
  return least;
}

test('strings are read as fast with the Redis client loaded as without it', () => {
  assert.equal(ofText(), ofBytes());
  const bytes = best(ofBytes);
  const text = best(ofText);
  // Twelve times, where it is not set right.
  assert.ok(text < bytes * 6, `${text} ms for the text, ${bytes} ms for its bytes`);
});
