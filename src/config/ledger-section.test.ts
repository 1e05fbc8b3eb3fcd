import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { selfSigned } from '../../test/render/self-signed.ts';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-ledger-config-'));
after(() => fs.rmSync(dir, { recursive: true }));
const url = 'https://clickhouse.example.org:8443';

function load(ledger: object, more: object = { redis: { url: 'redis://127.0.0.1' } }) {
  const file = path.join(dir, 'tokenlat.yaml');
  const document = {
    version: 1,
    auth: { api_keys: [{ name: 'k', key: 'a-key-of-a-client-of-32-characters', tenant: 't' }] },
    backends: [{ name: 'b', endpoints: [{ url: 'http://10.0.0.1:8000/v1/' }] }],
    models: [{ name: 'm', deployments: [{ backend: 'b' }] }],
    ledger,
    ...more,
  };
  fs.writeFileSync(file, JSON.stringify(document, null, 1));
  const env = { PASSWORD: 'pass word' };
  return loadConfig({ path: file, env, generation: 1, dialects: ['openai'], checkMatch: () => null });
}
const sinkOf = (sink: object) => {
  const result = load({ sink: { kind: 'clickhouse', url, ...sink } });
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot.ledger.sink;
};
const problems = (ledger: object): string[] => {
  const result = load(ledger);
  if (result.ok) return [];
  for (const { line } of result.problems) assert.ok(line > 1);
  return result.problems.map((problem) => `${problem.path}: ${problem.message}`);
};

test('without the section there is no sink, and a lost state denies', () => {
  const result = load({});
  assert.ok(result.ok);
  assert.equal(result.snapshot.ledger.sink, null);
  assert.equal(result.snapshot.ledger.onStateLost, 'auto');
});

test('a sink has its defaults, and its password from where it is kept', () => {
  const sink = sinkOf({ user: 'u', password: '${env:PASSWORD}', ttl_days: 400 });
  assert.deepEqual(sink, {
    kind: 'clickhouse',
    url,
    database: 'default',
    table: 'tokenlat_ledger',
    user: 'u',
    password: 'pass word',
    createTable: true,
    engine: 'ReplacingMergeTree',
    ttlDays: 400,
    ca: null,
    batch: 5000,
    intervalMs: 5000,
    timeoutMs: 30_000,
    keepUnsent: 1_000_000,
    allowLinkLocal: false,
  });
});

test('what cannot be is told with its place', () => {
  const told = (sink: object): string[] => problems({ sink: { kind: 'clickhouse', url, ...sink } });
  assert.match(told({ kind: 'kafka' })[0] ?? '', /^ledger\.sink\.kind: must be clickhouse/);
  assert.match(told({ url: 'tcp://x:9000' })[0] ?? '', /^ledger\.sink\.url: must be a URL that begins with http/);
  assert.match(told({ url: 'https://u:secret@x' })[0] ?? '', /^ledger\.sink\.url: must not hold a user or password$/);
  assert.match(
    told({ url: 'http://169.254.169.254/' })[0] ?? '',
    /^ledger\.sink\.url: 169\.254\.169\.254 is link-local/,
  );
  assert.deepEqual(told({ url: 'http://169.254.1.1/', allow_link_local: true }), []);
  assert.match(told({ table: 'a b' })[0] ?? '', /^ledger\.sink\.table: must be 1 to 64/);
  assert.match(told({ password: 'x' })[0] ?? '', /^ledger\.sink\.password: needs a user/);
  assert.match(told({ ca: 'nowhere.pem' })[0] ?? '', /^ledger\.sink\.ca: .*nowhere\.pem does not exist/);
  fs.writeFileSync(path.join(dir, 'odd.pem'), 'no certificate\n');
  assert.match(told({ ca: 'odd.pem' })[0] ?? '', /^ledger\.sink\.ca: holds no certificate/);
  assert.match(told({ keep_unsent: 5000 })[0] ?? '', /^ledger\.sink\.keep_unsent: must be at least ledger\.max_events/);
  assert.match(told({ intervall: '1s' })[0] ?? '', /^ledger\.sink.*interval/);
  assert.equal(
    problems({ sink: { kind: 'clickhouse', url: 'ftp://secret-host' } })
      .join()
      .includes('secret-host'),
    false,
  );
});

test('a certificate is read where the configuration is read, so that a new one is taken up', () => {
  const file = path.join(dir, 'ca.pem');
  fs.writeFileSync(file, selfSigned('ca').cert);
  assert.match(sinkOf({ ca: 'ca.pem' })?.ca ?? '', /BEGIN CERTIFICATE/);
  const result = load({ sink: { kind: 'clickhouse', url, ca: 'ca.pem' } });
  assert.ok(result.files.has(file));
});

test('what is risky is warned of', () => {
  const bare = load({ sink: { kind: 'clickhouse', url: 'http://ch.example.org:8123', user: 'u', password: 'p' } });
  assert.match(bare.ok ? bare.warnings.map(({ message }) => message).join() : '', /password goes over the network/);
  const memory = load({ sink: { kind: 'clickhouse', url } }, {});
  assert.match(memory.ok ? memory.warnings.map(({ message }) => message).join() : '', /needs a Redis/);
});
