import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Issuer } from '../../core/snapshot.ts';
import {
  b64,
  bench,
  ecPair,
  es256,
  goodClaims,
  goodHeader,
  hs256,
  issuer,
  jwk,
  jwt,
  NOW,
  outcome,
  ps256,
  rs256,
  rsaPair,
  snapshot,
  token,
} from './token-kit.test.ts';

const a = rsaPair('A');
const pem = a.publicKey.export({ type: 'spki', format: 'pem' });
const der = a.publicKey.export({ type: 'spki', format: 'der' });
const unsigned = () => Buffer.alloc(0);
const noise = () => Buffer.alloc(256, 7);

function edit(part: 0 | 1 | 2, change: (text: string) => string): string {
  const parts = jwt().split('.');
  parts[part] = change(parts[part] ?? '');
  return parts.join('.');
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i += 1) value = [value];
  return value;
}

/** Every one is answered with the same `invalid_credentials`. */
const REFUSED: Readonly<Record<string, string>> = {
  'alg none': token({ ...goodHeader, alg: 'none' }, goodClaims(), unsigned),
  'alg None, signed': token({ ...goodHeader, alg: 'None' }, goodClaims(), rs256(a.privateKey)),
  'alg missing': token({ typ: 'JWT', kid: 'a1' }, goodClaims(), rs256(a.privateKey)),
  'alg null': token({ ...goodHeader, alg: null }, goodClaims(), rs256(a.privateKey)),
  'alg list': token({ ...goodHeader, alg: ['RS256'] }, goodClaims(), rs256(a.privateKey)),
  'alg lower case': token({ ...goodHeader, alg: 'rs256' }, goodClaims(), rs256(a.privateKey)),
  'alg with space': token({ ...goodHeader, alg: 'RS256 ' }, goodClaims(), rs256(a.privateKey)),
  'HS256 by the public PEM': token({ ...goodHeader, alg: 'HS256' }, goodClaims(), hs256(pem)),
  'HS256 by the public DER': token({ ...goodHeader, alg: 'HS256' }, goodClaims(), hs256(der)),
  'HS256 by the empty secret': token({ ...goodHeader, alg: 'HS256' }, goodClaims(), hs256('')),
  'PS256 where RS256 is fixed': token({ ...goodHeader, alg: 'PS256' }, goodClaims(), ps256(a.privateKey)),
  'RS256 named, PS256 signed': token(goodHeader, goodClaims(), ps256(a.privateKey)),
  'ES256 of another key': token({ ...goodHeader, alg: 'ES256' }, goodClaims(), es256(ecPair('E').privateKey)),
  'psychic ES256 signature': token({ ...goodHeader, alg: 'ES256' }, goodClaims(), () => Buffer.alloc(64)),
  'another key, same kid': jwt({}, {}, 'X'),
  'unknown kid': jwt({}, { kid: 'zz' }),
  'kid with path': jwt({}, { kid: '../../../../dev/null' }),
  'kid with quote': jwt({}, { kid: "a1' OR '1'='1" }),
  'kid with NUL': jwt({}, { kid: 'a1\u0000' }),
  'kid in other case': jwt({}, { kid: 'A1' }),
  'kid number': jwt({}, { kid: 1 }),
  'kid null': jwt({}, { kid: null }),
  'kid list': jwt({}, { kid: ['a1'] }),
  'kid of 4 KiB': jwt({}, { kid: 'k'.repeat(4096) }),
  'kid of 64 KiB': jwt({}, { kid: 'k'.repeat(65536) }),
  'embedded jwk': token(
    { ...goodHeader, kid: undefined, jwk: jwk(rsaPair('X').publicKey) },
    goodClaims(),
    rs256(rsaPair('X').privateKey),
  ),
  'jku to elsewhere': jwt({}, { jku: 'https://evil.test/keys', kid: 'x1' }, 'X'),
  'x5u to elsewhere': jwt({}, { x5u: 'https://evil.test/cert', kid: 'x1' }, 'X'),
  'x5c inside': jwt({}, { x5c: [b64('cert')] }, 'X'),
  'crit unknown': jwt({}, { crit: ['exp'], exp: NOW + 600 }),
  'crit b64': jwt({}, { crit: ['b64'], b64: true }),
  'crit empty': jwt({}, { crit: [] }),
  'b64 without crit': jwt({}, { b64: false }),
  'typ of an ID token by another name': jwt({}, { typ: 'id_token' }),
  'typ dpop': jwt({}, { typ: 'dpop+jwt' }),
  'typ logout': jwt({}, { typ: 'logout+jwt' }),
  'typ number': jwt({}, { typ: 1 }),
  'signature empty': edit(2, () => ''),
  'signature cut': edit(2, (text) => text.slice(0, -4)),
  'signature flipped': edit(2, (text) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`),
  // The same bytes by another spelling: the last character has four bits to spare.
  'signature with stray bits': edit(
    2,
    (text) => text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + 1),
  ),
  'signature padded': edit(2, (text) => `${text}==`),
  'signature noise': token(goodHeader, goodClaims(), noise),
  'payload changed': edit(1, () => b64(goodClaims({ tenant: 'other' }))),
  'payload in plain base64': edit(1, (text) => `${text}+/`),
  'payload empty': token(goodHeader, '', rs256(a.privateKey)),
  'payload text': token(goodHeader, 'hello', rs256(a.privateKey)),
  'payload list': token(goodHeader, [goodClaims()], rs256(a.privateKey)),
  'payload null': token(goodHeader, null, rs256(a.privateKey)),
  'payload bad UTF-8': token(goodHeader, Buffer.from([0x7b, 0xff, 0x7d]), rs256(a.privateKey)),
  'payload with a byte order mark': token(goodHeader, `\uFEFF${JSON.stringify(goodClaims())}`, rs256(a.privateKey)),
  'payload a token (nested)': token({ ...goodHeader, cty: 'JWT' }, jwt(), rs256(a.privateKey)),
  'header list': token(['RS256'], goodClaims(), rs256(a.privateKey)),
  'header text': token('RS256', goodClaims(), rs256(a.privateKey)),
  'two parts': jwt().split('.').slice(0, 2).join('.'),
  'four parts': `${jwt()}.AAAA`,
  'five parts (encrypted)': [b64({ alg: 'RSA-OAEP', enc: 'A256GCM' }), 'AA', 'AA', 'AA', 'AA'].join('.'),
  'only dots': '..',
  'iss missing': jwt({ iss: undefined }),
  'iss other': jwt({ iss: 'https://issuer.test.evil.test' }),
  'iss with slash': jwt({ iss: 'https://issuer.test/' }),
  'iss list': jwt({ iss: ['https://issuer.test'] }),
  'aud missing': jwt({ aud: undefined }),
  'aud other': jwt({ aud: ['other'] }),
  'aud longer': jwt({ aud: 'llm-gw-2' }),
  'aud empty list': jwt({ aud: [] }),
  'aud nested': jwt({ aud: [['llm-gw']] }),
  'aud with a number': jwt({ aud: ['llm-gw', 1] }),
  'aud object': jwt({ aud: { 'llm-gw': true } }),
  'exp missing': jwt({ exp: undefined }),
  'exp text': jwt({ exp: String(NOW + 600) }),
  'exp null': jwt({ exp: null }),
  'exp fraction': jwt({ exp: NOW + 600.5 }),
  'exp negative': jwt({ exp: -1 }),
  'exp in milliseconds': jwt({ exp: (NOW + 600) * 1000 }),
  'exp 1e308': token(goodHeader, JSON.stringify(goodClaims()).replace(String(NOW + 600), '1e308'), rs256(a.privateKey)),
  'exp 1e999': token(goodHeader, JSON.stringify(goodClaims()).replace(String(NOW + 600), '1e999'), rs256(a.privateKey)),
  'nbf ahead': jwt({ nbf: NOW + 600 }),
  'nbf text': jwt({ nbf: 'now' }),
  'iat text': jwt({ iat: 'now' }),
  'ID token: nonce': jwt({ nonce: 'n' }),
  'ID token: at_hash': jwt({ at_hash: 'h' }),
  'ID token: token_use': jwt({ token_use: 'id' }),
  'refresh token': jwt({ typ: 'Refresh' }),
  'sub missing': jwt({ sub: undefined }),
  'sub number': jwt({ sub: 7 }),
  'sub empty': jwt({ sub: '' }),
  'sub with CR': jwt({ sub: 'a\r\nx-admin: 1' }),
  'sub without end': jwt({ sub: 's'.repeat(257) }),
  'tenant missing': jwt({ tenant: undefined }),
  'tenant empty': jwt({ tenant: '' }),
  'tenant list': jwt({ tenant: ['acme'] }),
  'tenant with a key separator': jwt({ tenant: 'acme:{other}' }),
  'tenant with a line break': jwt({ tenant: 'acme\n' }),
  'tenant too long': jwt({ tenant: 't'.repeat(129) }),
  'models number': jwt({ models: 7 }),
  'models with a number': jwt({ models: ['a', 7] }),
  'models with an empty pattern': jwt({ models: [''] }),
  'scope object': jwt({ scope: {} }),
  'tier list': jwt({ tier: ['gold'] }),
  'quota text': jwt({ quota_daily: '5' }),
  'quota negative': jwt({ quota_daily: -5 }),
  'quota 1e308': jwt({ quota_daily: 1e308 }),
  'claims nested too deep': jwt({ deep: nested(40) }),
  'longer than 8 KiB': jwt({ pad: 'p'.repeat(8192) }),
  'expired, and for another audience': jwt({ exp: NOW - 600, aud: 'other' }),
  'expired, and signed by another': jwt({ exp: NOW - 600 }, {}, 'X'),
};

test(`${Object.keys(REFUSED).length} bad tokens get the same answer`, async () => {
  const made = bench();
  const config = snapshot();
  assert.equal(await outcome(made, jwt(), config), '200');
  const passed: string[] = [];
  for (const [name, bad] of Object.entries(REFUSED)) {
    const code = await outcome(made, bad, config);
    if (code !== 'invalid_credentials') passed.push(`${name}: ${code}`);
  }
  assert.deepEqual(passed, []);
  assert.ok(Object.keys(REFUSED).length >= 60);
  assert.equal(await outcome(made, jwt(), config), '200');
});

test('with a 60 s skew: AUTH times', async () => {
  const config = snapshot({ clockSkewMs: 60_000 });
  const made = bench();
  assert.equal(await outcome(made, jwt({ nbf: NOW + 20 }), config), '200');
  assert.equal(await outcome(made, jwt({ exp: NOW - 20 }), config), '200');
  assert.equal(await outcome(made, jwt({ iat: NOW + 20 }), config), '200');
  assert.equal(await outcome(made, jwt({ nbf: NOW + 600 }), config), 'invalid_credentials');
  assert.equal(await outcome(made, jwt({ exp: NOW - 600 }), config), 'expired_credentials');
  assert.equal(await outcome(made, jwt({ exp: NOW - 60 }), config), 'expired_credentials');
  assert.equal(await outcome(made, jwt({ exp: NOW - 59 }), config), '200');
});

test('audience: text or list, one exact member', async () => {
  const made = bench();
  assert.equal(await outcome(made, jwt({ aud: ['other', 'llm-gw'] }), snapshot()), '200');
  const two = snapshot({ issuers: [issuer({ audience: ['x', 'llm-gw'] })] });
  assert.equal(await outcome(made, jwt({ aud: 'llm-gw' }), two), '200');
  const unchecked = snapshot({ issuers: [issuer({ audience: [] })] });
  assert.equal(await outcome(made, jwt({ aud: undefined }), unchecked), '200');
});

test('typ: by rule where there is one', async () => {
  const made = bench();
  const config = snapshot({ issuers: [issuer({ typ: 'at+jwt' })] });
  for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt']) {
    assert.equal(await outcome(made, jwt({}, { typ }), config), '200', typ);
  }
  for (const typ of ['JWT', 'at', undefined]) {
    assert.equal(await outcome(made, jwt({}, { typ }), config), 'invalid_credentials', String(typ));
  }
  assert.equal(await outcome(made, jwt({}, { typ: undefined }), snapshot()), '200');
});

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef');

function hsIssuer(changes: Partial<Issuer> = {}): Issuer {
  return issuer({
    issuer: 'dev',
    audience: [],
    algorithms: ['HS256'],
    keys: { kind: 'secret', secret: SECRET },
    ...changes,
  });
}

test('a shared secret: any kid, its own issuer only, long enough', async () => {
  const made = bench();
  const config = snapshot({ issuers: [issuer(), hsIssuer()] });
  const header = { alg: 'HS256', kid: 'anything' };
  assert.equal(await outcome(made, token(header, goodClaims({ iss: 'dev' }), hs256(SECRET)), config), '200');
  assert.equal(await outcome(made, token(header, goodClaims(), hs256(SECRET)), config), 'invalid_credentials');
  const rs = token(goodHeader, goodClaims({ iss: 'dev' }), rs256(a.privateKey));
  assert.equal(await outcome(made, rs, config), 'invalid_credentials');
  const short = Buffer.from('too short');
  const weak = snapshot({ issuers: [hsIssuer({ keys: { kind: 'secret', secret: short } })] });
  const code = await outcome(made, token(header, goodClaims({ iss: 'dev' }), hs256(short)), weak);
  assert.equal(code, 'identity_provider_unavailable');
});

test('what a token grants', async () => {
  const made = bench();
  const names = { ...issuer().claims, tenant: 'org', scope: 'scp' };
  const config = snapshot({ issuers: [issuer({ claims: names })] });
  const claims = {
    tenant: undefined,
    org: 'acme.eu-1',
    models: 'gpt-4.1* , claude-haiku',
    scp: ['canary', 'x'],
    quota_daily: 5000,
    tier: 'gold',
    business_line: 'search',
    __proto__: undefined,
  };
  const headers = [['authorization', `Bearer ${jwt(claims)}`]] as const;
  const { HeaderList } = await import('../../core/http.ts');
  const principal = await made.station.identify(new HeaderList(headers), config);
  assert.equal(principal.tenant, 'acme.eu-1');
  assert.deepEqual(principal.models, ['gpt-4.1*', 'claude-haiku']);
  assert.deepEqual([...principal.scopes], ['canary', 'x']);
  assert.equal(principal.tier, 'gold');
  assert.equal(principal.businessLine, 'search');
  assert.equal(principal.credential, issuer().issuer);
  const window = { kind: 'calendar', unit: 'day' };
  assert.deepEqual(principal.limits, [{ scope: 'subject:user-1', unit: 'tokens', window, limit: 5000 }]);
  assert.ok(Object.isFrozen(principal.claims));
  assert.equal(Object.getPrototypeOf(principal.claims), null);
});

test('a claim called __proto__ is a claim and nothing else', async () => {
  const text = JSON.stringify(goodClaims({ sub: undefined })).replace('{', '{"__proto__":{"sub":"root","admin":true},');
  assert.equal(await outcome(bench(), token(goodHeader, text, rs256(a.privateKey)), snapshot()), 'invalid_credentials');
  assert.equal(({} as { admin?: unknown }).admin, undefined);
});
