import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-admin-config-'));
after(() => fs.rmSync(dir, { recursive: true }));
fs.writeFileSync(path.join(dir, 'a.pem'), 'x');
const TOKEN = 'an-admin-token-of-32-characters-!';
const CLIENT = 'a-key-of-a-client-of-32-characters';
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

function load(admin: object | undefined) {
  const file = path.join(dir, 'tokenlat.yaml');
  const document = {
    version: 1,
    redis: { url: 'redis://127.0.0.1' },
    auth: { api_keys: [{ name: 'k', key: CLIENT, tenant: 't' }] },
    backends: [{ name: 'b', endpoints: [{ url: 'http://10.0.0.1:8000/v1/' }] }],
    models: [{ name: 'm', deployments: [{ backend: 'b' }] }],
    ...(admin === undefined ? {} : { admin }),
  };
  fs.writeFileSync(file, JSON.stringify(document));
  return loadConfig({ path: file, env: { TOKEN }, generation: 1, dialects: ['openai'], checkMatch: () => null });
}

function admin(section: object | undefined) {
  const result = load(section);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot.admin;
}

function problems(section: object): readonly string[] {
  const result = load(section);
  return result.ok ? [] : result.problems.map((problem) => `${problem.path}: ${problem.message}`);
}

const token = { name: 'ci', role: 'admin', token: '${env:TOKEN}' };

test('without the section there is no admin API', () => {
  assert.equal(admin(undefined), null);
});

test('defaults, and tokens kept as hashes', () => {
  const other = {
    name: 'ops',
    role: 'viewer',
    tenant: 'acme',
    sha256: 'A'.repeat(64),
    expires_at: '2027-01-31T01:00:00+01:00',
  };
  assert.deepEqual(admin({ tokens: [token, other] }), {
    address: '127.0.0.1',
    port: 9903,
    tls: null,
    tokens: [
      { name: 'ci', role: 'admin', tenant: null, sha256: hash(TOKEN), expiresAt: null },
      {
        name: 'ops',
        role: 'viewer',
        tenant: 'acme',
        sha256: 'a'.repeat(64),
        expiresAt: Date.parse('2027-01-31T00:00:00Z'),
      },
    ],
    oidc: null,
  });
  assert.deepEqual(admin({ oidc: { global_tenants: ['platform'] } })?.oidc, { globalTenants: ['platform'] });
});

test('a public address needs TLS', () => {
  assert.match(problems({ address: '0.0.0.0', tokens: [token] }).join(), /^admin\.address: 0\.0\.0\.0 can be reached/);
  const tls = { cert: 'a.pem', key: 'a.pem', client_ca: 'a.pem' };
  const file = path.join(dir, 'a.pem');
  assert.deepEqual(admin({ address: '0.0.0.0', tokens: [token], tls })?.tls, { cert: file, key: file, clientCa: file });
  assert.match(
    problems({ tokens: [token], tls: { ...tls, client_ca: 'none.pem' } }).join(),
    /^admin\.tls\.client_ca: .* is not there/,
  );
});

test('what is refused, and where', () => {
  for (const [section, expected] of [
    [{}, /^admin: needs at least one token, or "oidc"/],
    [{ tokens: [{ name: 'x', role: 'root', token: TOKEN }] }, /^admin\.tokens\[?\.?0\]?\.role: must be one of/],
    [{ tokens: [{ name: 'x', role: 'admin', token: 'short' }] }, /at least 32 characters/],
    [{ tokens: [{ name: 'x', role: 'admin' }] }, /needs "sha256" or "token"/],
    [{ tokens: [{ ...token, sha256: 'a'.repeat(64) }] }, /needs "sha256" or "token", not both/],
    [{ tokens: [token, { ...token, token: `${TOKEN}2` }] }, /"ci" is named twice/],
    [{ tokens: [token, { ...token, name: 'again' }] }, /is the secret of another token or API key/],
    [{ tokens: [{ ...token, token: CLIENT }] }, /is the secret of another token or API key/],
    [{ tokens: [{ ...token, expires_at: 'tomorrow' }] }, /must be a time such as/],
    [{ tokens: [token], port: 9901 }, /port 9901 is taken by listen\.admin_port/],
    [{ tokens: [token], port: 9902 }, /port 9902 is taken by server\.ops\.port/],
  ] as const)
    assert.match(problems(section).join('\n'), expected, JSON.stringify(section));
});
