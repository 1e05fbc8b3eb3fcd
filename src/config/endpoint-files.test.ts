import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-endpoints-'));
after(() => fs.rmSync(dir, { recursive: true }));

function load(backend: object, list?: string) {
  if (list !== undefined) fs.writeFileSync(path.join(dir, 'list.yaml'), list);
  const document = {
    version: 1,
    redis: { url: 'redis://127.0.0.1' },
    auth: { api_keys: [{ name: 'k', key: 'a-key-of-a-client-of-32-characters', tenant: 't' }] },
    backends: [{ name: 'b', ...backend }],
    models: [{ name: 'm', deployments: [{ backend: 'b' }] }],
  };
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(file, JSON.stringify(document, null, 1));
  const result = loadConfig({
    path: file,
    env: { HOST: '10.0.0.9' },
    generation: 1,
    dialects: ['openai'],
    checkMatch: () => null,
  });
  return {
    files: result.files,
    digest: result.ok ? result.snapshot.digest : '',
    backend: result.ok ? result.snapshot.backends.get('b') : undefined,
    problems: result.ok
      ? []
      : result.problems.map(
          ({ file: at, line, path: where, message }) => `${path.basename(at)}:${line} ${where}: ${message}`,
        ),
    warnings: result.ok ? result.warnings.map(({ message }) => message) : [],
  };
}

const FILE = { endpoints_file: 'list.yaml', pool: {} };

test('endpoints stand in a file of their own, alone or under their name, with references', () => {
  const wanted = [
    { host: '10.0.0.1', port: 80, weight: 1 },
    { host: '10.0.0.9', port: 81, weight: 2, zone: 'a', failureDomain: 'r' },
  ];
  const items = ['{url: "http://10.0.0.1"}', '{url: "http://${env:HOST}:81", weight: 2, zone: a, failure_domain: r}'];
  const alone = load(FILE, items.map((item) => `- ${item}\n`).join(''));
  assert.deepEqual(alone.backend?.endpoints, wanted);
  assert.deepEqual(alone.backend?.pool, { slowStartMs: 30_000 });
  const named = load(FILE, `endpoints: [${items.join(', ')}]`);
  assert.deepEqual(named.backend?.endpoints, wanted);
  // A change of the list is a change of the configuration.
  assert.notEqual(alone.digest, named.digest);
  assert.ok([...alone.files.keys()].some((file) => file.endsWith('list.yaml')));
});

test('faults of the list are told at their place in it', () => {
  assert.deepEqual(
    load(FILE, '- {url: "http://10.0.0.1"}\n- {url: 7}\n').problems.map((line) => line.split(':', 2).join(':')),
    ['list.yaml:2 [1].url'],
  );
  assert.match(load(FILE, '- {url: "http://10.0.0.1", wait: 1}').problems.join(), /list\.yaml:1 \[0\]: .*wait/);
  assert.match(load(FILE, '[]').problems.join(), /needs at least one endpoint/);
  assert.match(load(FILE, 'a: [').problems.join(), /list\.yaml:1 .*not valid YAML/);
  assert.match(
    load({ ...FILE, endpoints_file: 'none.yaml' }).problems.join(),
    /endpoints_file: .*none\.yaml does not exist/,
  );
  const both = load({ ...FILE, endpoints: [{ url: 'http://10.0.0.1' }] }, '- {url: "http://10.0.0.1"}');
  assert.match(both.problems.join(), /endpoints_file: says the same as endpoints: keep one/);
  assert.match(load({}).problems.join(), /backends\[0\]\.endpoints: needs at least one endpoint/);
  assert.match(load({ endpoints: [] }).problems.join(), /needs at least one endpoint/);
});

test('a pool goes by addresses', () => {
  const named = load({ pool: {}, endpoints: [{ url: 'http://gpu.example.org' }] });
  assert.match(
    named.problems.join(),
    /endpoints\[0\]\.url: gpu\.example\.org is a name: endpoints of a pool need IP addresses/,
  );
  assert.ok(load({ pool: {}, endpoints: [{ url: 'http://[::1]:8000' }] }).backend !== undefined);
  const { warnings } = load({ endpoints: [{ url: 'http://10.0.0.1', failure_domain: 'r' }] });
  assert.deepEqual(warnings, ['has no effect without pool']);
});

test('{host} in the URL of figures stands for an endpoint of a pool', () => {
  const health = { metrics: { url: 'http://{host}:8000/metrics' } };
  const endpoints = [{ url: 'http://10.0.0.1' }];
  assert.equal(load({ pool: {}, endpoints, health }).backend?.probes?.metrics?.url, health.metrics.url);
  assert.match(load({ endpoints, health }).problems.join(), /metrics\.url: \{host\} stands for an endpoint of a pool/);
});
