import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bench,
  jwk,
  jwt,
  NOW,
  outcome,
  rsaPair,
  silentLog,
  snapshot,
  issuer,
  goodClaims,
  testClock,
  token,
  hs256,
  countingMetrics,
} from './token-kit.test.ts';
import { KeyCache } from './key-cache.ts';
import { readKeySet } from './key-set.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));
const LONG = { exp: NOW + 100_000 };
const b2 = { kid: 'b1' };

test('rotation: a new kid is found by one load, and the old one goes on while published', async () => {
  const made = bench();
  const config = snapshot();
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  made.clock.advance(35_000);
  made.server.publish('A', 'B');
  assert.equal(await outcome(made, jwt(LONG, b2, 'B'), config), '200');
  assert.equal(made.server.fetches, 2);
  assert.equal(await outcome(made, jwt(LONG), config), '200');
});

test('a spray of 10,000 random kids costs one load per cooldown and harms no known key', async () => {
  const made = bench();
  const config = snapshot();
  const good = jwt(LONG);
  assert.equal(await outcome(made, good, config), '200');
  made.clock.advance(35_000);
  // Unsigned on purpose: the key is looked up first.
  const spray = Array.from({ length: 10_000 }, (_, i) =>
    token({ alg: 'RS256', kid: `random-${i}` }, goodClaims(), hs256('x')),
  );
  const codes = new Set(await Promise.all(spray.slice(0, 5000).map((bad) => outcome(made, bad, config))));
  assert.deepEqual([...codes], ['invalid_credentials']);
  assert.equal(made.server.fetches, 2);
  assert.equal(await outcome(made, good, config), '200');
  made.clock.advance(29_000);
  for (const bad of spray.slice(5000)) assert.equal(await outcome(made, bad, config), 'invalid_credentials');
  assert.equal(made.server.fetches, 2);
  assert.equal(await outcome(made, jwt({ ...LONG, jti: 'fresh' }), config), '200');
});

test('a token without kid, or with the kid of a key for other algorithms, asks for no load', async () => {
  const made = bench();
  const config = snapshot({ issuers: [issuer({ algorithms: ['RS256', 'ES256'] })] });
  made.server.publish('A', 'B');
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  made.clock.advance(35_000);
  const doubtful = token({ alg: 'RS256' }, goodClaims(), hs256('x'));
  assert.equal(await outcome(made, doubtful, config), 'invalid_credentials');
  assert.equal(await outcome(made, jwt(LONG, { alg: 'ES256' }), config), 'invalid_credentials');
  assert.equal(made.server.fetches, 1);
});

test('outage: known keys go on until too old, then nothing passes, then all is well again', async () => {
  const made = bench();
  const config = snapshot();
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  made.server.body = 500;
  made.clock.advance(700_000);
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  assert.equal(await outcome(made, jwt({ ...LONG, jti: 'new' }), config), '200');
  assert.deepEqual(
    made.metrics.anomalies.filter((name) => name !== 'key_load_failed'),
    [],
  );
  made.clock.advance(3_600_000 - 700_000 - 1);
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  made.clock.advance(1);
  assert.equal(await outcome(made, jwt(LONG), config), 'identity_provider_unavailable');
  made.server.publish('A');
  made.clock.advance(1000);
  assert.equal(await outcome(made, jwt(LONG), config), '200');
});

test('outage: loads are no more than one per cooldown, and requests do not wait for them', async () => {
  const made = bench();
  const config = snapshot();
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  made.server.body = 500;
  made.clock.advance(400_000);
  assert.equal(await outcome(made, jwt(LONG), config), '200');
  const before = made.server.fetches;
  const open = made.server.close();
  made.clock.advance(30_000);
  // One that waited would take 2 s.
  const patient = snapshot({}, { server: { messageTimeoutMs: 10_000 } as never });
  const started = performance.now();
  for (let i = 0; i < 50; i += 1) assert.equal(await outcome(made, jwt({ ...LONG, jti: i }), patient), '200');
  assert.ok(performance.now() - started < 1900);
  assert.equal(made.server.fetches, before + 1);
  open();
});

test('no keys at all: 503, and the first answer of the provider ends it', async () => {
  const made = bench();
  const config = snapshot();
  made.server.body = 503;
  assert.equal(await outcome(made, jwt(), config), 'identity_provider_unavailable');
  assert.equal(await outcome(made, jwt(), config), 'identity_provider_unavailable');
  assert.equal(made.server.fetches, 1);
  made.server.publish('A');
  made.clock.advance(1000);
  assert.equal(await outcome(made, jwt(), config), '200');
});

test('the first load is awaited no longer than Envoy is patient', async () => {
  const made = bench();
  const config = snapshot({}, { server: { messageTimeoutMs: 100 } as never });
  const open = made.server.close();
  assert.equal(await outcome(made, jwt(), config), 'identity_provider_unavailable');
  open();
  await settled();
  assert.equal(await outcome(made, jwt(), config), '200');
  assert.equal(made.server.fetches, 1);
});

test('prefetch loads before the first request', async () => {
  const made = bench();
  const config = snapshot();
  await made.station.prefetch(config);
  assert.equal(made.server.fetches, 1);
  assert.equal(await outcome(made, jwt(), config), '200');
  assert.equal(made.server.fetches, 1);
});

const BAD_SETS: Readonly<Record<string, unknown>> = {
  empty: { keys: [] },
  'no keys': {},
  list: [],
  null: null,
  'a weak key only': { keys: [jwk(rsaPair('weak', 1024).publicKey, { kid: 'b1' })] },
  'an encryption key only': { keys: [jwk(rsaPair('B').publicKey, { kid: 'b1', use: 'enc' })] },
  'a private key only': { keys: [jwk(rsaPair('B').privateKey, { kid: 'b1' })] },
  'a symmetric key too': { keys: [jwk(rsaPair('B').publicKey, { kid: 'b1' }), { kty: 'oct', k: 'AAAA', kid: 's' }] },
  'one kid twice': { keys: [jwk(rsaPair('A').publicKey, { kid: 'b1' }), jwk(rsaPair('B').publicKey, { kid: 'b1' })] },
  '101 keys': { keys: Array.from({ length: 101 }, (_, i) => jwk(rsaPair('B').publicKey, { kid: `k${i}` })) },
  redirect: 302,
  'not modified': 304,
};

for (const [name, body] of Object.entries(BAD_SETS)) {
  test(`a bad set never replaces a good one: ${name}`, async () => {
    const made = bench();
    const config = snapshot();
    assert.equal(await outcome(made, jwt(LONG), config), '200');
    made.server.body = body;
    made.clock.advance(290_000);
    assert.equal(await outcome(made, jwt(LONG), config), '200');
    await settled();
    assert.equal(made.server.fetches, 2);
    assert.equal(await outcome(made, jwt({ ...LONG, jti: '2' }), config), '200');
    assert.equal(await outcome(made, jwt(LONG, b2, 'B'), config), 'invalid_credentials');
  });
}

test('a removed key is refused after the refresh interval, verdicts included', async () => {
  const made = bench();
  const config = snapshot({ cache: { entries: 100, ttlMs: 10_000_000 } });
  const old = jwt(LONG);
  assert.equal(await outcome(made, old, config), '200');
  made.server.publish('B');
  made.clock.advance(200_000);
  assert.equal(await outcome(made, old, config), '200');
  // Nobody asked in between: the first one after the interval must not get through on the old keys.
  made.clock.advance(100_000);
  assert.equal(await outcome(made, old, config), 'invalid_credentials');
  assert.equal(await outcome(made, jwt(LONG, b2, 'B'), config), '200');
});

test('an early refresh in the background drops the verdicts of a removed key too', async () => {
  const made = bench();
  const config = snapshot({ cache: { entries: 100, ttlMs: 10_000_000 } });
  const old = jwt(LONG);
  assert.equal(await outcome(made, old, config), '200');
  made.server.publish('B');
  made.clock.advance(250_000);
  assert.equal(await outcome(made, old, config), '200');
  await settled();
  await settled();
  assert.equal(await outcome(made, old, config), 'invalid_credentials');
});

test('keys survive a reload of the configuration, even while the provider is down', async () => {
  const made = bench();
  assert.equal(await outcome(made, jwt(), snapshot()), '200');
  made.server.body = 500;
  const keys = { ...issuer().keys, refreshMs: 600_000 } as ReturnType<typeof issuer>['keys'];
  const next = snapshot({ issuers: [issuer({ keys })] }, { generation: 2 });
  assert.equal(await outcome(made, jwt(), next), '200');
  assert.equal(made.server.fetches, 1);
});

const pair = (name: string) => readKeySet({ keys: [jwk(rsaPair(name).publicKey, { kid: name })] });

test('a found key carries the epoch of the set that it was found in', async () => {
  const clock = testClock();
  let set = pair('A');
  let digest = 'a';
  const timing = { refreshMs: 1000, cooldownMs: 10, maxStaleMs: 5000, waitMs: 100 };
  const load = async () => ({ digest, set });
  const cache = new KeyCache({ name: 'test', load, timing, clock, log: silentLog, metrics: countingMetrics() });
  const found = await cache.find('A', 'RS256');
  assert.ok(found.kind === 'key');
  assert.equal(cache.epoch(), found.epoch);
  set = pair('B');
  digest = 'b';
  clock.advance(1000);
  assert.deepEqual(await cache.find('A', 'RS256'), { kind: 'none' });
  assert.notEqual(cache.epoch(), found.epoch);
});
