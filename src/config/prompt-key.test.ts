import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePromptKey } from './prompt-key.ts';

test('keys are 32 bytes in hex or base64', () => {
  const key = new Uint8Array(32).fill(7);
  const base64 = Buffer.from(key).toString('base64');
  assert.deepEqual(parsePromptKey('07'.repeat(32)), key);
  assert.deepEqual(parsePromptKey(`${base64}\n`), key);
  for (const text of [
    '',
    'short',
    '07'.repeat(31),
    'passphrase that is long enough but no key at all',
    `${base64}AAAA`,
  ]) {
    assert.equal(parsePromptKey(text), null);
  }
});
