import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ChoiceText } from './choice-text.ts';

test('half a pair waits for the other half', () => {
  const choice = new ChoiceText();
  assert.equal(choice.replace('a\ud83d'), 'a');
  assert.equal(choice.replace('a\ud83d\ude00b'), '😀b');
  assert.equal(choice.flush(), '');
});

test('U+FFFD at the end may still become a character', () => {
  const choice = new ChoiceText();
  assert.equal(choice.replace('a\ufffd\ufffd'), 'a');
  assert.equal(choice.accepts('a😀'), true);
  assert.equal(choice.replace('a😀'), '😀');
  assert.equal(choice.replace('a😀\ufffd'), '');
  assert.equal(choice.flush(), '\ufffd');
  assert.equal(choice.text, 'a😀\ufffd');
});

test('many U+FFFD are text, and half a pair at the end is one', () => {
  const choice = new ChoiceText();
  assert.equal(choice.append('\ufffd'.repeat(5)), '\ufffd\ufffd');
  assert.equal(choice.append('x'), '\ufffd\ufffd\ufffdx');
  assert.equal(choice.append('\ude00\ud83d'), '\ufffd');
  assert.equal(choice.flush(), '\ufffd');
});

test('it counts how often it grew, not how often it was told', () => {
  const choice = new ChoiceText();
  for (const text of ['a', 'a', 'ab', 'ab']) choice.replace(text);
  choice.append('');
  assert.equal(choice.pieces, 2);
  assert.equal(choice.accepts('b'), false);
});

test('property: any cut of a text gives it out whole and well-formed, cumulative or in pieces', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.array(fc.nat(30), { maxLength: 8 }),
      (text, cuts) => {
        const at = [...cuts.filter((cut) => cut <= text.length), text.length].toSorted((a, b) => a - b);
        const whole = new ChoiceText();
        const pieces = new ChoiceText();
        const out = ['', ''];
        for (const [index, end] of at.entries()) {
          for (const [which, fresh] of [
            whole.replace(text.slice(0, end)),
            pieces.append(text.slice(at[index - 1] ?? 0, end)),
          ].entries()) {
            assert.doesNotMatch(fresh, /\p{Surrogate}/u);
            out[which] += fresh;
          }
        }
        assert.deepEqual([out[0] + whole.flush(), out[1] + pieces.flush()], [text, text]);
      },
    ),
    { numRuns: 1000 },
  );
});
