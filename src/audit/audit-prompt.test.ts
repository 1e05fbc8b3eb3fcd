import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../core/json.ts';
import { createAuditPrompt, decryptPrompt } from './audit-prompt.ts';

const key = new Uint8Array(32).fill(7);
const other = new Uint8Array(32).fill(8);
const SECRET = 'my patient is called Ada';
type Sealed = { [key: string]: Json };

test('by default nothing is kept', () => {
  assert.equal(createAuditPrompt({ rule: 'none', key: null })([SECRET]), null);
  assert.throws(() => createAuditPrompt({ rule: 'hash', key: null }));
});

test('a hash tells texts apart, needs its key, and holds no text', () => {
  const hash = createAuditPrompt({ rule: 'hash', key });
  assert.deepEqual(hash([SECRET, 'b']), hash([SECRET, 'b']));
  assert.notDeepEqual(hash([SECRET, 'b']), hash([`${SECRET}b`]));
  assert.notEqual(
    (hash([SECRET]) as Sealed)['hmac'],
    (createAuditPrompt({ rule: 'hash', key: other })([SECRET]) as Sealed)['hmac'],
  );
  assert.equal(JSON.stringify(hash([SECRET])).includes('Ada'), false);
});

test('encrypted texts come back with their key alone, and never the same twice', () => {
  const encrypt = createAuditPrompt({ rule: 'encrypt', key });
  const sealed = encrypt([SECRET, 'zwei\n€']) as Sealed;
  assert.equal(decryptPrompt(sealed, key), JSON.stringify([SECRET, 'zwei\n€']));
  assert.notEqual(sealed['data'], (encrypt([SECRET, 'zwei\n€']) as Sealed)['data']);
  assert.equal(JSON.stringify(sealed).includes('Ada'), false);
  assert.throws(() => decryptPrompt(sealed, other));
  const data = Buffer.from(sealed['data'] as string, 'base64');
  data[3]! ^= 1;
  assert.throws(() => decryptPrompt({ ...sealed, data: data.toString('base64') }, key));
  assert.throws(() => decryptPrompt({ ...sealed, data: '' }, key));
  assert.throws(() => decryptPrompt(createAuditPrompt({ rule: 'hash', key })(['a']), key));
});

test('lone surrogates and long texts are no fault', () => {
  const encrypt = createAuditPrompt({ rule: 'encrypt', key });
  assert.equal(decryptPrompt(encrypt(['a\ud800']), key), '["a\ufffd"]');
  const long = encrypt(['x'.repeat(2_000_000)]) as Sealed;
  assert.equal(long['cut'], true);
  assert.equal(long['bytes'], 2_000_004);
  assert.ok(JSON.stringify(long).length < 800_000);
});
