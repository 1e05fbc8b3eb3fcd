import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonError } from './json-error.ts';
import { parseJson } from './parse-json.ts';
import { parseLazily } from './parse-lazily.ts';

const RULES = { maxDepth: 64, maxKeys: 200 };

interface Outcome {
  readonly fault?: string;
  readonly path?: string | null;
  readonly value?: unknown;
  readonly text?: string;
  readonly spans?: readonly unknown[];
}

function outcome(
  read: () => { value: unknown; members: ReadonlyMap<string, unknown>; elements: readonly unknown[] },
): Outcome {
  try {
    const { value, members, elements } = read();
    // Long strings are read on the way, each from its getter, and once more as values.
    return { value: structuredClone(value), text: JSON.stringify(value), spans: [[...members], elements] };
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    return { fault: error.fault, path: error.path };
  }
}

const plainly = (body: Buffer): Outcome => outcome(() => parseJson(body, { ...RULES, refuseDuplicates: true }));
const lazily = (body: Buffer, longFrom: number): Outcome =>
  outcome(() => {
    const parsed = parseLazily(body, { ...RULES, leastBody: 0, longFrom });
    parsed.longStrings.fill();
    return parsed;
  });

function assertSame(body: Buffer, longFrom: number): void {
  assert.deepEqual(lazily(body, longFrom), plainly(body));
}

test('a body means the same, read now or later: texts of odd pieces, bytes, and JSON that is cut', () => {
  // oxfmt-ignore
  const piece = fc.constantFrom(
    '{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '"model"', '"mod\\u0065l"', '1', '-', '1E400', 'true', 'nul', ' ', '\n', '\t',
    '\\u', '\\ud83d', '\\ude00', '"\\', '\u0000', '\u001f', '\u007f', 'é', '\uFEFF', '😀', '{"a":1}', '[[', '"__proto__":', '\\n',
    '"some words\\n of a text"', '"a\nb"', '"\\x"', '"tab\there"', '"long \\ud83d\\ude00 one"', '"messages":', '"content":',
  );
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join('')));
  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
  const cut = fc.tuple(fc.json(), fc.nat({ max: 200 })).map(([json, at]) => Buffer.from(json).subarray(0, at));
  fc.assert(fc.property(fc.oneof(text, bytes, cut), fc.nat({ max: 9 }), assertSame), { numRuns: 10_000 });
});

test('a body means the same when one byte of it is another', () => {
  const string = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 30 }));
  const key = fc.oneof(
    fc.constantFrom('a', 'content', 'é', '__proto__'),
    string.filter((text) => !text.includes('\\')),
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, string, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  })).value;
  fc.assert(
    fc.property(
      json,
      fc.nat({ max: 2 }),
      fc.nat(),
      fc.nat({ max: 255 }),
      fc.nat({ max: 9 }),
      (value, gap, at, byte, long) => {
        const body = Buffer.from(JSON.stringify(value, null, gap));
        assertSame(body, long);
        body[at % body.length] = byte;
        assertSame(body, long);
      },
    ),
    { numRuns: 4000 },
  );
});

test('what is refused in a short string is refused in a long one', () => {
  const long = 'many words '.repeat(1000);
  const refused: readonly (readonly [string, string])[] = [
    [`{"a":"${long}\u0000${long}"}`, 'syntax'],
    [`{"a":"${long}\u001f"}`, 'syntax'],
    [`{"a":"\n${long}"}`, 'syntax'],
    [`{"a":"${long}\\x${long}"}`, 'syntax'],
    [`{"a":"${long}\\u12g4"}`, 'syntax'],
    [`{"a":"${long}\\ud83d${long}"}`, 'encoding'],
    [`{"a":"${long}`, 'syntax'],
    [`{"a":"${long}"`, 'syntax'],
    [`{"a":"${long}" "${long}"}`, 'syntax'],
    [`{"a" "${long}"}`, 'syntax'],
    [`["${long}" 1]`, 'syntax'],
    [`{"a":"${long}","a":1}`, 'duplicate-key'],
    [`{"${long}":1,"${long}":2}`, 'duplicate-key'],
  ];
  for (const [text, fault] of refused) {
    const body = Buffer.from(text);
    const told = outcome(() => parseLazily(body, RULES));
    assert.deepEqual(told, plainly(body), text.slice(0, 20));
    assert.equal(told.fault, fault, text.slice(0, 20));
  }
  for (let shift = 0; shift < 9; shift += 1) {
    const body = Buffer.from(`${' '.repeat(shift)}{"a":"${long}"}`);
    for (const at of [0, 1, 2, 3, 4, 5, 4095, 4096, 4097, long.length - 2, long.length - 1]) {
      const broken = Buffer.from(body);
      broken[shift + 6 + at] = 0x1f;
      assert.equal(outcome(() => parseLazily(broken, RULES)).fault, 'syntax', `${shift} ${at}`);
    }
    assert.equal(outcome(() => parseLazily(body, RULES)).fault, undefined);
  }
});

test('a string with the letters of a stand-in is itself', () => {
  const odd = 'x'.repeat(512);
  const body = Buffer.from(JSON.stringify({ a: odd, b: [odd, 'y'.repeat(3000), odd], c: 'z'.repeat(9000) }));
  const { value, longStrings } = parseLazily(body, RULES);
  assert.equal((value as { c: string }).c, odd);
  longStrings.fill();
  assert.deepEqual(value, JSON.parse(body.toString()));
});

test('a long string is known by its place, and told piece by piece', () => {
  const said = 'Größe "one" \\ \n 😀 and so on. '.repeat(500);
  const escaped = JSON.stringify(said).replaceAll('ö', '\\u00f6').replaceAll('😀', '\\ud83d\\ude00');
  for (const token of [JSON.stringify(said), escaped]) {
    const body = Buffer.from(`{"a":[0,{"b":${token}}]}`);
    const { value, longStrings } = parseLazily(body, RULES);
    const string = longStrings.at((value as { a: [0, object] }).a[1], 'b');
    assert.ok(string);
    assert.equal(longStrings.at(value, 'a'), undefined);
    assert.equal(string.text, said);
    const first = string.piece(0, 100);
    assert.ok(said.startsWith(first) && first.length > 40);
    for (let from = 0; from < 300; from += 1) {
      const piece = string.piece(from, 200);
      // The half of a pair may be missing at either end.
      assert.ok(said.includes(piece.replaceAll(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')) && piece.length > 20, piece);
    }
  }
  const run = Buffer.from(`["${'\\\\'.repeat(5000)}"]`);
  const { value, longStrings } = parseLazily(run, RULES);
  for (let from = 0; from < 300; from += 1) assert.ok(longStrings.at(value, 0)!.piece(from, 101).length > 10);
});
