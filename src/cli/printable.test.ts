import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { printable } from './printable.ts';

/** Control characters, what turns the direction of writing, and what ends a line. */
const UNSAFE = /\p{Cc}|\p{Bidi_Control}|\p{Zl}|\p{Zp}/u;

const NAUGHTY = JSON.parse(
  readFileSync(new URL('../../test/fixtures/naughty-strings/blns.base64.json', import.meta.url), 'utf8'),
) as string[];

test('escape sequences lose their teeth', () => {
  assert.equal(printable('\u001b[2J\u001b]0;title\u0007ok'), '?[2J?]0;title?ok');
  assert.equal(printable('a\r\nb\tc'), 'a??b?c');
  assert.equal(printable('\u009b31m'), '?31m');
});

test('text that would be read backwards is not', () => {
  assert.equal(printable('user\u202egpj.exe'), 'user?gpj.exe');
  assert.equal(printable('\u2066a\u2069\u200fb\u061c'), '?a??b?');
});

test('no text gets through with anything unsafe, and safe text is left alone', () => {
  const check = (text: string): void => {
    const shown = printable(text);
    assert.doesNotMatch(shown, UNSAFE);
    assert.equal(shown.length, text.length);
    if (!UNSAFE.test(text)) assert.equal(shown, text);
  };
  for (const text of NAUGHTY) check(Buffer.from(text, 'base64').toString());
  fc.assert(fc.property(fc.string({ unit: 'binary' }), check));
  for (let code = 0; code <= 0xffff; code += 1) check(`a${String.fromCharCode(code)}b`);
});

test('whatever is no text becomes some', () => {
  assert.deepEqual([null, undefined, 0, false, 12.5].map(printable), ['', '', '0', 'false', '12.5']);
});
