import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { validateHeaderValue } from 'node:http';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { headerValue, MAX_HEADER_VALUE } from './header-value.ts';

const NAUGHTY = (
  JSON.parse(
    readFileSync(new URL('../../test/fixtures/naughty-strings/blns.base64.json', import.meta.url), 'utf8'),
  ) as string[]
).map((text) => Buffer.from(text, 'base64').toString());

function assertFit(text: string): void {
  const value = headerValue(text);
  assert.match(value, /^[\x20-\x7e]*$/);
  assert.ok(value.length <= MAX_HEADER_VALUE);
  assert.equal(value, value.trim());
  validateHeaderValue('x-test', value);
  assert.equal(headerValue(value), value, 'clean text stays as it is');
}

test('naughty strings become fit for a header', () => {
  assert.equal(NAUGHTY.length, 676);
  for (const text of NAUGHTY) assertFit(text);
});

test('any text becomes fit for a header', () => {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 3000 });
  fc.assert(fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string()), assertFit));
  fc.assert(
    fc.property(units, (codes) => assertFit(String.fromCharCode(...codes))),
    { numRuns: 50 },
  );
});

test('clean text passes untouched', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,200}[\x21-\x7e])?$/), (text) => {
      assert.equal(headerValue(text), text);
    }),
  );
});

test('no line is split and nothing is lost in silence', () => {
  assert.equal(headerValue('a\r\nset-cookie: x\0y'), 'a??set-cookie: x?y');
  assert.equal(headerValue('naïve'), 'na?ve');
  assert.equal(headerValue('  padded\t'), 'padded?');
  assert.equal(headerValue('x'.repeat(5000)), 'x'.repeat(MAX_HEADER_VALUE));
});
