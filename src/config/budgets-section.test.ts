import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-budget-config-'));
after(() => fs.rmSync(dir, { recursive: true }));

const priced = (name: string, price: number, currency = 'USD', more: object = {}) => ({
  name,
  deployments: [{ backend: 'b', price: { currency, prompt_per_mtok: price }, ...more }],
});

function load(changes: object) {
  const file = path.join(dir, 'tokenlat.yaml');
  const document = {
    version: 1,
    redis: { url: 'redis://127.0.0.1' },
    auth: { api_keys: [{ name: 'k', key: 'a-key-of-a-client-of-32-characters', tenant: 't' }] },
    backends: [{ name: 'b', endpoints: [{ url: 'http://10.0.0.1:8000/v1/' }] }],
    models: [priced('m', 1)],
    ...changes,
  };
  fs.writeFileSync(file, JSON.stringify(document));
  return loadConfig({
    path: file,
    env: { SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
    generation: 1,
    dialects: ['openai'],
    checkMatch: () => null,
  });
}

function snapshot(changes: object) {
  const result = load(changes);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot;
}

function problems(changes: object): string {
  const result = load(changes);
  return result.ok ? '' : result.problems.map((problem) => `${problem.path}: ${problem.message}`).join('\n');
}

const channel = (changes: object = {}) => ({
  name: 'ops',
  url: 'https://hooks.example.org/x',
  secret: 'x'.repeat(16),
  ...changes,
});
const channels = (...list: readonly object[]) => ({ budgets: { channels: list } });

test('without the section: alerts at 70, 90 and 100 %, nowhere to go', () => {
  const { budgets, ledger } = snapshot({});
  assert.deepEqual([budgets.alertsAt, budgets.channels.size, budgets.defaultChannels], [[70, 90, 100], 0, []]);
  assert.equal(ledger.zone, 'UTC');
});

test('channels with their keys as bytes, all of them the default', () => {
  const { budgets } = snapshot({
    budgets: {
      alerts_at: [90, 50, 90],
      channels: [channel(), channel({ name: 'pager', secret: '${env:SECRET}', timeout: '2s' })],
    },
    ledger: { zone: 'Europe/Berlin' },
  });
  assert.deepEqual(budgets.alertsAt, [50, 90]);
  assert.deepEqual(budgets.defaultChannels, ['ops', 'pager']);
  const pager = budgets.channels.get('pager');
  assert.deepEqual([pager?.timeoutMs, pager?.allowLinkLocal], [2000, false]);
  assert.equal(Buffer.from(pager?.secret ?? []).toString('base64'), 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  assert.equal(Buffer.from(budgets.channels.get('ops')?.secret ?? []).toString(), 'x'.repeat(16));
});

test('what is wrong with channels and the zone', () => {
  for (const [changes, expected] of [
    [channels(channel({ url: 'ftp://x' })), /channels\[0\]\.url: must be a URL that begins/],
    [channels(channel({ url: 'https://u:p@x.test/' })), /must not hold a user/],
    [channels(channel({ url: 'http://169.254.169.254/' })), /link-local/],
    [channels(channel({ url: 'http://[::ffff:a9fe:a9fe]/' })), /link-local/],
    [channels(channel({ url: 'http://0xA9FEA9FE/' })), /link-local/],
    [channels(channel({ secret: 'short' })), /secret: must have at least 16/],
    [channels(channel({ secret: 'whsec_AAAAAAAAAAAA' })), /secret: must hold at least 16 bytes/],
    [channels(channel(), channel()), /"ops" is named twice/],
    [{ budgets: { channels: [channel()], default_channels: ['opps'] } }, /no channel "opps".*ops/],
    [{ ledger: { zone: 'Europe/Bärlin' } }, /ledger\.zone: there is no time zone/],
  ] as const) {
    assert.match(problems(changes), expected);
  }
  assert.equal(problems(channels(channel({ url: 'http://169.254.169.254/', allow_link_local: true }))), '');
});

test('limits of every kind, in money too', () => {
  const tenant = {
    name: 't',
    limits: { spend_per_month: 12.5, concurrent_requests: 3 },
    line_limits: { search: { requests_per_month: 7 } },
    model_limits: { alias: { tokens_per_day: 9 } },
  };
  const { tenants } = snapshot({ tenants: [tenant], aliases: { alias: 'm' } });
  const month = { kind: 'calendar', unit: 'month' };
  assert.deepEqual(tenants.get('t')?.limits, [
    { unit: 'spend', window: month, limit: 12_500_000, per: 'tenant' },
    { unit: 'requests', window: { kind: 'concurrent' }, limit: 3, per: 'tenant' },
    { unit: 'requests', window: month, limit: 7, per: 'line', businessLine: 'search' },
    { unit: 'tokens', window: { kind: 'calendar', unit: 'day' }, limit: 9, per: 'tenant', model: 'm' },
  ]);
});

test('limits in money need one currency; what costs nothing has none', () => {
  const tenants = [{ name: 't', line_limits: { x: { spend_per_day: 1 } } }];
  assert.match(problems({ tenants, models: [priced('m', 1), priced('n', 1, 'EUR')] }), /several currencies/);
  assert.equal(problems({ tenants, models: [priced('m', 0), priced('n', 1, 'EUR')] }), '');
  assert.equal(problems({ models: [priced('m', 1), priced('n', 1, 'EUR')] }), '');
});

test('cost tiers by relative price, unless said; routes save by default', () => {
  const models = [priced('a', 1), priced('b', 5), priced('c', 9), priced('d', 9, 'USD', { cost_tier: 'economy' })];
  const { models: made, routes } = snapshot({
    models,
    routes: [{ name: 'r', candidates: [{ model: 'a' }], protect: 'deny' }],
  });
  assert.deepEqual(
    [...made.values()].map((model) => model.deployments[0]?.costTier),
    ['economy', 'standard', 'core', 'economy'],
  );
  assert.deepEqual(
    routes.map(({ id, protect }) => `${id} ${protect}`),
    ['r deny', 'default cheaper'],
  );
});
