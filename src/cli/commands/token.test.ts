import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { Issuer, Snapshot } from '../../core/snapshot.ts';
import { UserError } from '../user-error.ts';
import { developmentToken } from './token.ts';

const SECRET = 'a-shared-secret-of-some-length-0123456789';
const CLAIMS = {
  tenant: 'tenant',
  models: 'models',
  tier: 'tier',
  businessLine: 'business_line',
  scope: 'scope',
  quotaDaily: 'quota_daily',
};

function issuerOf(over: object = {}): Issuer {
  return {
    issuer: 'https://dev.test',
    audience: ['gateway', 'other'],
    algorithms: ['RS256', 'HS256'],
    keys: { kind: 'secret', secret: SECRET },
    typ: null,
    claims: CLAIMS,
    ...over,
  } as unknown as Issuer;
}

const configOf = (...issuers: Issuer[]) => ({ auth: { issuers } }) as unknown as Snapshot;
const flags = { subject: 'ann', tenant: 'acme', models: 'a, gpt-*', ttl: '1h' };
const key = Buffer.from(SECRET);

test('a token is one that any verifier takes, with what was asked for', async () => {
  const token = developmentToken(configOf(issuerOf()), {
    ...flags,
    tier: 'gold',
    scope: 'canary admin',
    quotaDaily: '5000',
  });
  const { payload, protectedHeader } = await jwtVerify(token, key, {
    issuer: 'https://dev.test',
    audience: 'gateway',
    typ: 'JWT',
  });
  assert.equal(protectedHeader.alg, 'HS256');
  assert.deepEqual(
    [payload.sub, payload['tenant'], payload['models'], payload['tier'], payload['scope'], payload['quota_daily']],
    ['ann', 'acme', ['a', 'gpt-*'], 'gold', 'canary admin', 5000],
  );
  assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 3600);
  assert.ok(Math.abs((payload.iat ?? 0) - Date.now() / 1000) < 5);
  assert.match(payload.jti ?? '', /^[0-9a-f-]{36}$/);
  await assert.rejects(jwtVerify(token, Buffer.from(`${SECRET}x`)));
});

test('each algorithm of a shared secret signs as its name says', async () => {
  for (const algorithm of ['HS256', 'HS384', 'HS512']) {
    const token = developmentToken(configOf(issuerOf({ algorithms: [algorithm], typ: 'at+jwt', audience: [] })), flags);
    const { payload } = await jwtVerify(token, key, { algorithms: [algorithm], typ: 'at+jwt' });
    assert.equal(payload.aud, undefined);
    assert.equal(decodeProtectedHeader(token).alg, algorithm);
    for (const absent of ['tier', 'scope', 'quota_daily']) assert.equal(payload[absent], undefined);
  }
});

test("claims have the issuer's own names", async () => {
  const claims = { ...CLAIMS, tenant: 'org', models: 'may_use' };
  const { payload } = await jwtVerify(developmentToken(configOf(issuerOf({ claims })), flags), key);
  assert.deepEqual([payload['org'], payload['may_use'], payload['tenant']], ['acme', ['a', 'gpt-*'], undefined]);
});

test('the issuer is the one named, else the first with a secret', async () => {
  const remote = issuerOf({ issuer: 'https://remote.test', keys: { kind: 'url' } });
  const second = issuerOf({ issuer: 'https://second.test' });
  const config = configOf(remote, issuerOf(), second);
  const iss = async (issuer?: string) =>
    (await jwtVerify(developmentToken(config, { ...flags, ...(issuer === undefined ? {} : { issuer }) }), key)).payload
      .iss;
  assert.deepEqual([await iss(), await iss('https://second.test')], ['https://dev.test', 'https://second.test']);
  for (const issuer of ['https://remote.test', 'https://nobody.test']) {
    assert.throws(() => developmentToken(config, { ...flags, issuer }), UserError);
  }
  assert.throws(() => developmentToken(configOf(remote), flags), /add one under auth\.issuers/);
});

test('odd words are refused in one line', () => {
  for (const over of [
    { ttl: 'soon' },
    { ttl: '' },
    { ttl: '-1h' },
    { quotaDaily: 'many' },
    { quotaDaily: '1.5' },
    { quotaDaily: '-5' },
    { quotaDaily: '' },
  ]) {
    assert.throws(
      () => developmentToken(configOf(issuerOf()), { ...flags, ...over }),
      (error) => error instanceof UserError && !error.message.includes('\n'),
      JSON.stringify(over),
    );
  }
});
