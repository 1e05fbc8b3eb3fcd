import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { canonicalJson, isCanonical, JcsError } from './canonical-json.ts';
import type { JcsValue } from './canonical-json.ts';

test('orders keys by UTF-16 units at every level', () => {
  const value = { b: 1, a: { z: null, '10': true, '9': false }, '\u{1f600}': 1, '\ufb33': 2 };
  assert.equal(canonicalJson(value), '{"a":{"10":true,"9":false,"z":null},"b":1,"\u{1f600}":1,"\ufb33":2}');
});

test('writes numbers as ECMAScript does', () => {
  const numbers = [-0, 0.1, 1e21, 1e-7, Number('333333333.33333329'), 5e-324, 2 ** 53, -1.5];
  assert.equal(canonicalJson(numbers), '[0,0.1,1e+21,1e-7,333333333.3333333,5e-324,9007199254740992,-1.5]');
});

test('escapes what must be escaped and nothing else', () => {
  assert.equal(canonicalJson('\u0000\b\t\n\f\r"\\/\u007f\u2028é€'), '"\\u0000\\b\\t\\n\\f\\r\\"\\\\/\u007f\u2028é€"');
});

test('refuses what has no JSON form', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const none: unknown[] = [
    '\ud800',
    'a\udc00b',
    '\udc00\ud800',
    { '\ud83d': 1 },
    Number.NaN,
    Number.POSITIVE_INFINITY,
    undefined,
    [undefined],
    { a: undefined },
    1n,
    Symbol('x'),
    () => 1,
    new Date(0),
    new Map(),
    cycle,
    Object.assign(Array.from({ length: 0 }), { length: 1 }),
  ];
  for (const value of none) assert.throws(() => canonicalJson(value as JcsValue), JcsError);
});

test('a key named __proto__ is a key like any other', () => {
  assert.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}') as JcsValue), '{"__proto__":{"a":2},"b":1}');
});

const wellFormed = fc.string({ unit: 'grapheme' });
const json = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 4 }) as fc.Arbitrary<JcsValue>;

test('is stable: the form of what it reads as is itself, and says the same value', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value);
      const read = JSON.parse(text) as JcsValue;
      assert.equal(canonicalJson(read), text);
      assert.deepEqual(read, JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 500 },
  );
});

test('the order in which keys were set changes nothing', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(wellFormed, fc.double({ noNaN: true, noDefaultInfinity: true })), {
        selector: ([key]) => key,
      }),
      (pairs) => {
        assert.equal(canonicalJson(Object.fromEntries(pairs)), canonicalJson(Object.fromEntries(pairs.toReversed())));
      },
    ),
    { numRuns: 300 },
  );
});

test('a text is canonical just when it is the form of what it reads as', () => {
  const isForm = (text: string): boolean => {
    try {
      return canonicalJson(JSON.parse(text) as JcsValue) === text;
    } catch {
      return false;
    }
  };
  const anyText = fc.oneof(
    json.map(canonicalJson),
    json.map((value) => JSON.stringify(value)),
    json.map((value) => JSON.stringify(value, null, 1)),
    fc.dictionary(fc.constantFrom('9', '10', 'a', 'B', '__proto__'), json).map((value) => JSON.stringify(value)),
    fc.dictionary(fc.constantFrom('9', '10', 'a', 'B'), json).map(canonicalJson),
  );
  fc.assert(
    fc.property(anyText, (text) => {
      assert.equal(isCanonical(JSON.parse(text) as JcsValue, text), isForm(text), text);
    }),
    { numRuns: 1000 },
  );
  const texts = [
    '{"10":1,"9":2}',
    '{"9":2,"10":1}',
    '"\\ud800"',
    '"\\u000b"',
    '-0',
    '1.0',
    '{"a":1,"a":1}',
    '"/"',
    '"\\/"',
  ];
  const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
  for (const text of [...texts, deep]) {
    assert.equal(isCanonical(JSON.parse(text) as JcsValue, text), isForm(text), text);
  }
  assert.deepEqual(texts.map(isForm), [true, false, false, true, false, false, false, true, false]);
});
