import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseObject, splitJws } from './jws-form.ts';
import { b64 } from './token-kit.test.ts';

const HEADER = b64({ alg: 'RS256' });

test('takes apart what is canonical', () => {
  const form = splitJws(`${HEADER}.${b64('payload')}.AAAA`);
  assert.deepEqual({ ...form?.header }, { alg: 'RS256' });
  assert.equal(form?.payload.toString(), 'payload');
});

const REFUSED: Readonly<Record<string, string>> = {
  'empty part': `${HEADER}..AAAA`,
  'no signature': `${HEADER}.AAAA.`,
  padding: `${HEADER}.AAA=.AAAA`,
  'stray bits': `${HEADER}.AB.AAAA`,
  'stray bits in the signature': `${HEADER}.AA.AB`,
  'one character too many': `${HEADER}.AAAAA.AAAA`,
  'plain alphabet': `${HEADER}.+/+/.AAAA`,
  'white space': `${HEADER}.AA AA.AAAA`,
  'line break': `${HEADER}.AAAA.AAAA\n`,
  'two parts': `${HEADER}.AAAA`,
  'four parts': `${HEADER}.AAAA.AAAA.AAAA`,
  'header not an object': `${b64('[]')}.AAAA.AAAA`,
  'header not JSON': `${b64('{')}.AAAA.AAAA`,
};

for (const [name, token] of Object.entries(REFUSED)) {
  test(`refuses: ${name}`, () => assert.equal(splitJws(token), null));
}

test('one content, one spelling', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 20 }),
      fc.nat(),
      fc.constantFrom('A', 'B', 'Q', 'R', 'g', 'w', 'x', '_', '-'),
      (bytes, at, letter) => {
        const part = b64(Buffer.from(bytes));
        const place = at % part.length;
        const other = part.slice(0, place) + letter + part.slice(place + 1);
        const form = splitJws(`${HEADER}.${other}.AAAA`);
        if (other === part) assert.deepEqual(form?.payload, Buffer.from(bytes));
        else assert.notDeepEqual(form?.payload, Buffer.from(bytes));
      },
    ),
    { numRuns: 1000 },
  );
});

test('objects have no prototype, and own what they are given', () => {
  const value = parseObject(Buffer.from('{"__proto__":{"a":1},"constructor":2}'));
  assert.equal(Object.getPrototypeOf(value), null);
  assert.deepEqual(Object.keys(value ?? {}), ['__proto__', 'constructor']);
  assert.equal(({} as { a?: unknown }).a, undefined);
});
