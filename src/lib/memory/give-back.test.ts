import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack } from './give-back.ts';

test('memory is freed where the bytes are all of it, or nearly', () => {
  const whole = Buffer.from(new ArrayBuffer(100));
  giveBack(whole);
  assert.equal(whole.length, 0);
  const part = Buffer.from(new ArrayBuffer(100), 0, 90);
  giveBack(part);
  giveBack(part, 9);
  assert.equal(part.length, 90);
  giveBack(part, 10);
  assert.equal(part.length, 0);
  const shared = Buffer.from(new SharedArrayBuffer(10));
  giveBack(shared);
  assert.equal(shared.length, 10);
});
