import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canonicalJson } from '../../src/lib/jcs/canonical-json.ts';
import type { JcsValue } from '../../src/lib/jcs/canonical-json.ts';

const folder = new URL('../fixtures/json-canonicalization/', import.meta.url);
const names = readdirSync(new URL('input/', folder)).map((file) => file.replace(/\.json$/, ''));

test('the fixture is whole', () => {
  assert.deepEqual(names, ['arrays', 'french', 'structures', 'unicode', 'values', 'weird']);
});

for (const name of names) {
  test(`RFC 8785: ${name}`, () => {
    const input = JSON.parse(readFileSync(new URL(`input/${name}.json`, folder), 'utf8')) as JcsValue;
    const bytes = Buffer.from(canonicalJson(input), 'utf8');
    assert.equal(
      bytes.toString('utf8'),
      readFileSync(new URL(`output/${name}.json`, folder), 'utf8').replace(/\n$/, ''),
    );
    const hex = readFileSync(new URL(`outhex/${name}.txt`, folder), 'utf8').replaceAll(/\s+/g, '');
    assert.equal(bytes.toString('hex'), hex);
  });
}

/** Section 3.2.2.3 and appendix B: bits of an IEEE 754 double, and its text. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
];

test('numbers of appendix B', () => {
  for (const [bits, text] of NUMBERS) assert.equal(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE(0)), text, bits);
  for (const bits of ['7fffffffffffffff', '7ff0000000000000']) {
    assert.throws(() => canonicalJson(Buffer.from(bits, 'hex').readDoubleBE(0)));
  }
});
