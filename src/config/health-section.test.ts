import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-health-config-'));
after(() => fs.rmSync(dir, { recursive: true }));

function load(health: object | undefined, backend: object = {}) {
  const file = path.join(dir, 'tokenlat.yaml');
  const document = {
    version: 1,
    redis: { url: 'redis://127.0.0.1' },
    auth: { api_keys: [{ name: 'k', key: 'a-key-of-a-client-of-32-characters', tenant: 't' }] },
    backends: [{ name: 'b', endpoints: [{ url: 'http://10.0.0.1:8000/v1/' }], ...(health && { health }), ...backend }],
    models: [{ name: 'm', deployments: [{ backend: 'b' }] }],
  };
  fs.writeFileSync(file, JSON.stringify(document));
  return loadConfig({ path: file, env: {}, generation: 1, dialects: ['openai'], checkMatch: () => null });
}

function backendOf(health: object | undefined) {
  const result = load(health);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot.backends.get('b');
}

function problems(health: object, backend: object = {}): readonly string[] {
  const result = load(health, backend);
  return result.ok ? [] : result.problems.map(({ path: at, message }) => `${at}: ${message}`);
}

test('nothing is looked at unless it is said', () => {
  assert.equal(backendOf(undefined)?.probes, undefined);
  const withEnvoy = backendOf({ http: {} });
  assert.equal(withEnvoy?.probes, undefined);
  assert.equal(withEnvoy?.health?.path, '/health');
});

test('every kind has its defaults, and none of them is a check by Envoy', () => {
  const url = 'http://10.0.0.1:9400/metrics';
  const backend = backendOf({
    network: {},
    service: {},
    model: {},
    metrics: { url },
    gpu: { url, labels: { gpu: '0' } },
  });
  assert.equal(backend?.health, null);
  assert.deepEqual(backend?.probes, {
    allowLinkLocal: false,
    network: { intervalMs: 5000, timeoutMs: 1000, failures: 3, successes: 2 },
    service: { intervalMs: 5000, timeoutMs: 1000, failures: 3, successes: 2, path: '/health' },
    model: { intervalMs: 30_000, timeoutMs: 2000, failures: 2, successes: 1, maxTokens: 1 },
    metrics: { url, intervalMs: 1000, timeoutMs: 1000, staleMs: 30_000, queue: 8, cache: 0.95 },
    models: null,
    gpu: {
      url,
      intervalMs: 5000,
      timeoutMs: 2000,
      staleMs: 30_000,
      labels: [['gpu', '0']],
      maxCelsius: 75,
      hysteresis: 5,
      pcieReplays: 100,
      panicShare: 0.5,
    },
  });
});

test('what cannot be is said at its place', () => {
  const at = 'backends[0].health';
  assert.deepEqual(problems({ network: { interval: '1s', timeout: '2s' } }), [
    `${at}.network.timeout: must not be longer than the interval`,
  ]);
  assert.deepEqual(problems({ http: { interval: '1s', timeout: '2s' } }), [
    `${at}.http.timeout: must not be longer than the interval`,
  ]);
  assert.match(problems({ metrics: {} }).join(), /health\.metrics.*url/);
  assert.match(problems({ metrics: { url: 'ftp://x' } }).join(), /metrics\.url: must be a URL that begins with http/);
  assert.match(problems({ gpu: { url: 'http://u:p@10.0.0.1' } }).join(), /gpu\.url: must not hold a user/);
  const metadata = { metrics: { url: 'http://169.254.169.254/latest' } };
  assert.match(problems(metadata).join(), /metrics\.url: 169\.254\.169\.254 is link-local/);
  assert.deepEqual(problems(metadata, { allow_link_local: true }), []);
  const url = 'http://10.0.0.1/metrics';
  assert.match(problems({ gpu: { url, stale: '5s' } }).join(), /gpu\.stale: must be longer than the interval/);
  assert.match(problems({ gpu: { url, max_celsius: 20, hysteresis: 20 } }).join(), /gpu\.hysteresis: must be smaller/);
  assert.match(problems({ gpu: { url, panic_share: 2 } }).join(), /gpu\.panic_share/);
  assert.match(problems({ gpu: { url, labels: { 'a b': '1' } } }).join(), /must be a label name/);
  assert.match(problems({ model: { interval: '1s' } }).join(), /model\.interval: must be between 5s/);
  assert.match(problems({ service: { path: 'health' } }).join(), /service\.path: must be a path/);
  assert.match(problems({ probes: {} }).join(), /not known here/);
});

test('what a backend loads, and its list of that', () => {
  assert.deepEqual(backendOf(undefined)?.loads, { most: null, keepMs: 300_000 });
  const given = load({ models: {} }, { loads: { most: 4, keep: '90s' } });
  assert.ok(given.ok);
  const made = given.snapshot.backends.get('b');
  assert.deepEqual(made?.loads, { most: 4, keepMs: 90_000 });
  assert.deepEqual(made?.probes?.models, { path: '/v1/models', intervalMs: 5000, timeoutMs: 1000 });
});
