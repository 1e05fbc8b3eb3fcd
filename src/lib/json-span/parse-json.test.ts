import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonError, type JsonFault } from './json-error.ts';
import { parseJson } from './parse-json.ts';

const OPTIONS = { maxDepth: 64, refuseDuplicates: true };

function fault(text: string | Buffer, options = OPTIONS): JsonError {
  try {
    parseJson(Buffer.from(text), options);
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    return error;
  }
  throw new Error('taken');
}

const faultOf = (text: string | Buffer): JsonFault => fault(text).fault;

test('spans are the bytes of each top-level value, by decoded key', () => {
  const text = Buffer.from(
    ' { "größe" : "ü,}" ,"mod\\u0065l":[1, {"a":2}] , "n": -1.50e3 ,"__proto__":{"x":1}, "e":{}} ',
  );
  const { members, value } = parseJson(text, OPTIONS);
  const seen = [...members].map(([key, { start, end }]) => [key, text.subarray(start, end).toString()]);
  assert.deepEqual(seen, [
    ['größe', '"ü,}"'],
    ['model', '[1, {"a":2}]'],
    ['n', '-1.50e3'],
    ['__proto__', '{"x":1}'],
    ['e', '{}'],
  ]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});

test('elements of a top-level array', () => {
  const text = Buffer.from('[ 1, "a]" ,[2,[3]], {} ]');
  const spans = parseJson(text, OPTIONS).elements;
  assert.deepEqual(
    spans.map(({ start, end }) => text.subarray(start, end).toString()),
    ['1', '"a]"', '[2,[3]]', '{}'],
  );
  assert.deepEqual(parseJson(Buffer.from('[]'), OPTIONS).elements, []);
});

test('the same key twice is refused at any level, however it is spelt, with the way to it (P27)', () => {
  const cases: [string, string][] = [
    ['{"model":1,"model":2}', 'model'],
    ['{"model":1,"mod\\u0065l":2}', 'model'],
    ['{"mod\\u0065l":1,"\\u006dodel":2}', 'model'],
    ['{"messages":[{"content":1},{"role":2,"content":1,"content":2}]}', 'messages[1].content'],
    ['[[1,2,{"a":{"b":1,"b":2}}]]', '[0][2].a.b'],
    ['{"é":1,"\\u00e9":2}', 'é'],
    ['{"\\"":1,"\\u0022":2}', '"'],
    ['{"":1,"":2}', ''],
    [`{${Array.from({ length: 40 }, (_, at) => `"k${at}":0`).join(',')},"k3":1}`, 'k3'],
  ];
  for (const [text, path] of cases) {
    const error = fault(text);
    assert.equal(error.fault, 'duplicate-key', text);
    assert.equal(error.path, path, text);
    assert.ok(error.position !== null && error.position > 0);
    parseJson(Buffer.from(text), { ...OPTIONS, refuseDuplicates: false });
  }
  parseJson(Buffer.from('{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":1},"\\\\u0061":1}'), OPTIONS);
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

test('where equal keys are allowed, the span is that of the one that JSON.parse takes', () => {
  const text = Buffer.from('{"a":1,"b":2,"\\u0061":3}');
  const { members, value } = parseJson(text, { ...OPTIONS, refuseDuplicates: false });
  assert.deepEqual(value, { a: 3, b: 2 });
  assert.deepEqual(members.get('a'), { start: text.length - 2, end: text.length - 1 });
});

test('depth is capped before the parse', () => {
  parseJson(Buffer.from(nested(64)), OPTIONS);
  assert.equal(faultOf(nested(65)), 'depth');
  assert.equal(faultOf(nested(1_000_000)), 'depth');
  assert.equal(faultOf('{"a":'.repeat(1_000_000)), 'depth');
  parseJson(Buffer.from(`{"a":"${'['.repeat(1000)}"}`), OPTIONS);
});

test('bytes that readers understand in different ways are refused', () => {
  assert.equal(faultOf('\uFEFF{}'), 'encoding');
  assert.equal(faultOf(Buffer.from([0x22, 0xff, 0x22])), 'encoding');
  assert.equal(faultOf(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), 'encoding');
  for (const text of [
    '"\\ud83d"',
    '"\\udc00"',
    '"\\ud83d\\ud83d"',
    '"\\uD83Dx\\uDE00"',
    '["\\\\\\ud83d"]',
    '{"\\ud800":1}',
  ]) {
    assert.equal(faultOf(text), 'encoding', text);
  }
  for (const text of ['"\\ud83d\\ude00"', '"\\\\ud83d"', '"\\uD83D\\uDE00\\n"']) parseJson(Buffer.from(text), OPTIONS);
});

test('no part of the text is in the message', () => {
  for (const text of ['{"secret":tru', 'secret', '{"secret":1,"secret":2}', '"secret\\ud800"', '["secret]']) {
    assert.ok(!fault(text).message.includes('secret'), text);
  }
});

test('ten thousand odd bodies give a value or a typed error, each in bounded work (P28)', () => {
  // oxfmt-ignore
  const piece = fc.constantFrom(
    '{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '"model"', '"mod\\u0065l"', '1', '-', '1E400', 'true', 'nul', ' ', '\n',
    '\\u', '\\ud83d', '"\\', '\u0000', 'é', '\uFEFF', '😀', '{"a":1}', '[[', '"__proto__":',
  );
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join('')));
  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
  const cut = fc.tuple(fc.json(), fc.nat({ max: 200 })).map(([json, at]) => Buffer.from(json).subarray(0, at));
  fc.assert(
    fc.property(fc.oneof(text, bytes, cut), (body) => {
      try {
        const { value } = parseJson(body, OPTIONS);
        assert.deepEqual(value, JSON.parse(body.toString()));
      } catch (error) {
        assert.ok(error instanceof JsonError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
});

test('every valid text is taken and every span holds its value', () => {
  // No backslash: see the property of `applyEdits`.
  const key = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\\'));
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 4 })), fc.nat({ max: 4 }), (value, gap) => {
      const text = Buffer.from(JSON.stringify(value, null, gap));
      const { members } = parseJson(text, OPTIONS);
      const own = JSON.parse(text.toString()) as Record<string, unknown>;
      assert.deepEqual([...members.keys()].toSorted(), Object.keys(own).toSorted());
      for (const [key, { start, end }] of members) {
        assert.deepEqual(JSON.parse(text.subarray(start, end).toString()), own[key]);
      }
    }),
    { numRuns: 2000 },
  );
});

test('large odd bodies end quickly: many keys, one long string, many quotes and backslashes', () => {
  const many = Array.from({ length: 100_000 }, (_, at) => `"${at}":0`).join(',');
  const bodies = [
    `{${many}}`,
    `{${many},"7":1}`,
    `["${'x'.repeat(1 << 20)}"]`,
    `["${'\\\\'.repeat(1 << 19)}"]`,
    `["${'\\"'.repeat(1 << 19)}"]`,
    `[${'1,'.repeat(1 << 19)}1]`,
    `${'\\'.repeat(1 << 20)}"`,
    `["${'\\n\\u0041'.repeat(1 << 16)}\\ud83d\\ude00"]`,
  ];
  const started = performance.now();
  for (const body of bodies) {
    try {
      parseJson(Buffer.from(body), OPTIONS);
    } catch (error) {
      assert.ok(error instanceof JsonError);
    }
  }
  // Generous: quadratic work on any of these takes minutes.
  assert.ok(performance.now() - started < 5000);
});
