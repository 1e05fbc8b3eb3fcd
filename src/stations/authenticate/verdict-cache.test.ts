import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  apiKey,
  bench,
  goodClaims,
  hs256,
  issuer,
  jwt,
  NOW,
  outcome,
  snapshot,
  testClock,
  tenant,
  token,
} from './token-kit.test.ts';
import { VerdictCache, verdictKey } from './verdict-cache.ts';
import type { Accepted } from './verdict.ts';
import { refused } from './verdict.ts';
import { HeaderList } from '../../core/http.ts';

function accepted(expiresAt = Number.POSITIVE_INFINITY): Accepted {
  return { kind: 'accepted', principal: {} as Accepted['principal'], expiresAt, keys: null };
}

test('twins that share all but the last characters do not share a verdict', async () => {
  const made = bench();
  const config = snapshot();
  const good = jwt();
  assert.equal(await outcome(made, good, config), '200');
  const last = good.endsWith('A') ? 'Q' : 'A';
  for (const twin of [
    good.slice(0, -1),
    `${good.slice(0, -1)}${last}`,
    `${good}A`,
    good.toLowerCase(),
    good.toUpperCase(),
  ]) {
    assert.equal(await outcome(made, twin, config), 'invalid_credentials');
  }
  const [header, , signature] = good.split('.');
  const other = jwt({ tenant: 'other' }).split('.')[1];
  assert.equal(await outcome(made, `${header}.${other}.${signature}`, config), 'invalid_credentials');
  assert.equal(await outcome(made, good, config), '200');
});

test('a token is no API key that looks alike, nor across generations', () => {
  const keys = [
    verdictKey(1, 'jwt', 't'),
    verdictKey(2, 'jwt', 't'),
    verdictKey(1, 'api-key', 't'),
    verdictKey(1, 'jwt', 'T'),
  ];
  assert.equal(new Set(keys).size, 4);
});

test('a verdict does not outlive its configuration', async () => {
  const made = bench();
  const good = jwt();
  assert.equal(await outcome(made, good, snapshot()), '200');
  const gone = snapshot({ issuers: [] }, { generation: 2 });
  assert.equal(await outcome(made, good, gone), 'invalid_credentials');
  const tier = snapshot({}, { generation: 3, tenantDefaults: { ...tenant('default'), tier: 'gold' } });
  const headers = new HeaderList([['authorization', `Bearer ${good}`]]);
  assert.equal((await made.station.identify(headers, tier)).tier, 'gold');
  const key = 'sk-1';
  assert.equal(await outcome(made, key, snapshot({ apiKeys: [apiKey(key)] }, { generation: 4 })), '200');
  assert.equal(await outcome(made, key, snapshot({ apiKeys: [] }, { generation: 5 })), 'invalid_credentials');
});

test('a verdict dies with its token', async () => {
  const made = bench();
  const config = snapshot({ clockSkewMs: 0, cache: { entries: 10, ttlMs: 1_000_000 } });
  const good = jwt({ exp: NOW + 60 });
  assert.equal(await outcome(made, good, config), '200');
  made.clock.advance(59_999);
  assert.equal(await outcome(made, good, config), '200');
  made.clock.advance(1);
  assert.equal(await outcome(made, good, config), 'expired_credentials');
});

test('a verdict dies with its time, a refusal after 5 s', () => {
  const clock = testClock();
  const cache = new VerdictCache({ entries: 10, ttlMs: 60_000, clock });
  cache.set('good', accepted());
  cache.set('bad', refused('test'));
  cache.set('none', { kind: 'unavailable' });
  assert.equal(cache.get('none'), undefined);
  clock.advance(4999);
  assert.equal(cache.get('bad')?.kind, 'refused');
  clock.advance(1);
  assert.equal(cache.get('bad'), undefined);
  assert.equal(cache.get('good')?.kind, 'accepted');
  clock.advance(55_000);
  assert.equal(cache.get('good'), undefined);
  assert.deepEqual(cache.sizes, { accepted: 0, refused: 0 });
});

test('a flood of bad tokens pushes out no good verdict', () => {
  const clock = testClock();
  const cache = new VerdictCache({ entries: 100, ttlMs: 60_000, clock });
  for (let i = 0; i < 100; i += 1) cache.set(`good-${i}`, accepted());
  for (let i = 0; i < 100_000; i += 1) cache.set(`bad-${i}`, refused('test'));
  assert.deepEqual(cache.sizes, { accepted: 100, refused: 100 });
  for (let i = 0; i < 100; i += 1) assert.equal(cache.get(`good-${i}`)?.kind, 'accepted');
});

test('a remembered verdict costs no look at the keys', async () => {
  const made = bench();
  const config = snapshot();
  await outcome(made, jwt(), config);
  const ctx = new HeaderList([['authorization', `Bearer ${jwt()}`]]);
  assert.equal(made.station.identify(ctx, config) instanceof Promise, false);
  const fresh = new HeaderList([['authorization', `Bearer ${jwt({ jti: 'x' })}`]]);
  assert.equal(made.station.identify(fresh, config) instanceof Promise, true);
});

test('a refusal is forgotten when a key could have come', async () => {
  const made = bench();
  const config = snapshot({ issuers: [issuer({ keys: { ...issuer().keys, cooldownMs: 1000 } as never })] });
  const early = jwt({}, { kid: 'b1' }, 'B');
  assert.equal(await outcome(made, early, config), 'invalid_credentials');
  made.server.publish('A', 'B');
  made.clock.advance(5000);
  assert.equal(await outcome(made, early, config), '200');
  assert.equal(
    await outcome(made, token({ alg: 'RS256', kid: 'b1' }, goodClaims(), hs256('x')), config),
    'invalid_credentials',
  );
});
