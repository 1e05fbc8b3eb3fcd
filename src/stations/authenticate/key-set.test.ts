import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { readKeySet, secretKeySet, selectKey } from './key-set.ts';
import { isRoca } from './roca.ts';
import { ecPair, jwk, rsaPair } from './token-kit.test.ts';

const good = jwk(rsaPair('A').publicKey, { kid: 'a' });
const ec = jwk(ecPair('E').publicKey, { kid: 'e' });
const cube = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).publicKey;
const short = generateKeyPairSync('rsa', { modulusLength: 2040 }).publicKey;
const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey;

const UNUSABLE: Readonly<Record<string, Record<string, unknown>>> = {
  'exponent 3': jwk(cube),
  'exponent 1': { ...good, e: 'AQ' },
  'even exponent': { ...good, e: 'AQAC' },
  'huge exponent': { ...good, e: good['n'] },
  'even modulus': { ...good, n: `${String(good['n']).slice(0, -2)}AA` },
  '2040 bits': jwk(short),
  '2047 bits by leading zeros': { ...jwk(short), n: `AA${String(jwk(short)['n'])}` },
  '16384 bits': { ...good, n: Buffer.alloc(2048, 0xfd).toString('base64url') },
  'a foreign curve': jwk(curve),
  'curve and type at odds': { ...ec, kty: 'OKP' },
  'algorithm of another type': { ...good, alg: 'ES256' },
  'algorithm of another curve': { ...ec, alg: 'ES384' },
  'symmetric algorithm': { ...good, alg: 'HS256' },
  'algorithm no text': { ...good, alg: ['RS256'] },
  'for encryption': { ...good, use: 'enc' },
  'for signing only': { ...good, key_ops: ['sign'] },
  'kid no text': { ...good, kid: 7 },
  'with its private part': jwk(rsaPair('A').privateKey),
  'no point of the curve': { ...ec, y: ec['x'] },
  'no members': { kty: 'RSA' },
};

for (const [name, key] of Object.entries(UNUSABLE)) {
  test(`left out of a set: ${name}`, () => {
    assert.throws(() => readKeySet({ keys: [key] }), /no usable key/);
    const { keys } = readKeySet({ keys: [{ ...key }, jwk(rsaPair('B').publicKey, { kid: 'b' })] });
    assert.deepEqual(
      keys.map((each) => each.kid),
      ['b'],
    );
  });
}

test('a key verifies what its type and its alg allow', () => {
  const { keys } = readKeySet({ keys: [good, ec, { ...jwk(rsaPair('B').publicKey), kid: 'b', alg: 'PS256' }] });
  assert.deepEqual(
    keys.map((key) => key.algorithms),
    [['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'], ['ES256'], ['PS256']],
  );
});

test('a key is found by kid, or without one where there is no doubt', () => {
  const set = readKeySet({ keys: [good, ec, jwk(rsaPair('B').publicKey)] });
  assert.equal(selectKey(set, 'a', 'RS256')?.kid, 'a');
  assert.equal(selectKey(set, 'a', 'ES256'), null);
  assert.equal(selectKey(set, null, 'ES256')?.kid, 'e');
  assert.equal(selectKey(set, null, 'RS256'), null);
  assert.equal(selectKey(set, 'zz', 'RS256'), null);
});

const algorithms = (bytes: number) => secretKeySet(Buffer.alloc(bytes, 1)).keys[0]?.algorithms;

test('secrets are as long as their hash', () => {
  assert.deepEqual(algorithms(32), ['HS256']);
  assert.deepEqual(algorithms(48), ['HS256', 'HS384']);
  assert.deepEqual(algorithms(64), ['HS256', 'HS384', 'HS512']);
  assert.throws(() => secretKeySet(Buffer.alloc(31, 1)), /32/);
});

test('honest moduli do not bear the mark', () => {
  for (const name of ['A', 'B', 'X']) {
    assert.equal(
      isRoca(BigInt(`0x${Buffer.from(String(jwk(rsaPair(name).publicKey)['n']), 'base64url').toString('hex')}`)),
      false,
    );
  }
});
