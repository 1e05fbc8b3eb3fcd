import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { redact } from './redact.ts';
import { cpuTimeMs } from '../../../test/support/cpu-time.ts';

const SECRETS = [
  'sk-proj-abcdefghijklmnop0123456789',
  'sk-ant-api03-abcdefghijkl_mnop-AA',
  'sk_live_abcdefghijklmnop',
  'gsk_abcdefghijklmnop0123',
  'hf_abcdefghijklmnopqrst',
  'xai-abcdefghijklmnop',
  'ghp_abcdefghijklmnop0123',
  'AKIAIOSFODNN7EXAMPLE',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlLXZhbHVl',
  'Bearer abcdef0123456789+/=',
  'bearer  tok.en~value-1',
];

test('each kind of secret is taken out, wherever it stands', () => {
  for (const secret of SECRETS) {
    for (const text of [
      secret,
      `key: ${secret}`,
      `"${secret}"`,
      `(${secret}), then`,
      `a=${secret}&b=c`,
      `${secret}\n${secret}`,
    ]) {
      const out = redact(text);
      const heart = secret.replace(/^bearer\s+/i, '').slice(0, 8);
      assert.ok(!out.includes(heart), `${text} became ${out}`);
      assert.ok(out.includes('***'));
    }
  }
});

test('masked keys, as upstreams write them, lose the rest of their letters', () => {
  assert.equal(redact('Incorrect API key provided: sk-abcd********wxyz.'), 'Incorrect API key provided: ***.');
});

test('words that are no secrets stay', () => {
  for (const text of [
    '',
    'The model `m` does not exist',
    'max_tokens is too large: 5000',
    'a task-force asks',
    'ask-me',
    'bearer',
    'eye',
  ]) {
    assert.equal(redact(text), text);
  }
});

test('what is redacted stays redacted', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom(...SECRETS, ' ')), { maxLength: 12 }), (parts) => {
      const once = redact(parts.join(' '));
      assert.ok(once.length <= 4096 + 64);
      for (const secret of SECRETS) assert.ok(!once.includes(secret));
    }),
  );
});

test('no text makes it slow', () => {
  for (const text of [
    'sk-'.repeat(2000),
    'eyJ'.repeat(2000),
    'bearer '.repeat(1000),
    `bearer ${' '.repeat(5000)}`,
    `eyJ${'a.'.repeat(3000)}`,
  ]) {
    const began = cpuTimeMs();
    redact(text);
    assert.ok(cpuTimeMs() - began < 100, text.slice(0, 20));
  }
});
