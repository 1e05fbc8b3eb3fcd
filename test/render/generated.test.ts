import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { staticBootstrap, validate } from './envoy.ts';
import { EXAMPLE_ENV, generatedFiles, ROOT } from './generated.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-generated-'));
after(() => fs.rmSync(dir, { recursive: true }));
const generated = generatedFiles();

function committed(folder: string): Map<string, string> {
  const place = path.join(ROOT, 'envoy', folder);
  const names = fs.readdirSync(place).filter((name) => name.endsWith('.yaml'));
  return new Map(names.map((name) => [name, fs.readFileSync(path.join(place, name), 'utf8')]));
}

test('every committed file is what is rendered', () => {
  for (const [name, content] of generated) {
    assert.equal(fs.readFileSync(path.join(ROOT, name), 'utf8'), content, `${name}: run node test/render/generated.ts`);
  }
  for (const folder of ['gateway', 'sidecar', 'pool', 'existing-listener']) {
    for (const name of committed(folder).keys())
      assert.ok(generated.has(`envoy/${folder}/${name}`), `envoy/${folder}/${name} is rendered by nothing`);
    assert.ok(fs.existsSync(path.join(ROOT, 'envoy', folder, 'README.md')));
  }
});

for (const folder of ['gateway', 'sidecar', 'pool']) {
  test(`envoy/${folder} is valid`, () => {
    assert.equal(validate(dir, staticBootstrap(committed(folder))), '');
  });
}

test('the pieces for an existing listener are valid where they belong', () => {
  const files = committed('existing-listener');
  const piece = (name: string) => parse(files.get(name) ?? '') as Record<string, unknown>;
  const manager = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'mine',
    route_config: { name: 'mine', ...piece('virtual-host.yaml') },
    ...piece('connection-manager.yaml'),
  };
  const bootstrap = {
    static_resources: {
      listeners: [
        {
          name: 'mine',
          address: { socket_address: { address: '127.0.0.1', port_value: 10_000 } },
          filter_chains: [
            { filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] },
          ],
        },
      ],
      ...piece('clusters.yaml'),
    },
    ...piece('bootstrap.yaml'),
  };
  assert.equal(validate(dir, bootstrap), '');
});

test('no secret gets into what is rendered', () => {
  for (const [name, content] of generated) {
    for (const secret of [EXAMPLE_ENV.TOKENLAT_JWT_SECRET, EXAMPLE_ENV.TOKENLAT_KEY, 'Bearer example'])
      assert.ok(!content.includes(secret), name);
  }
});

test('a wrong enum is found by the check', () => {
  const bootstrap = staticBootstrap(committed('gateway'));
  const text = JSON.stringify(bootstrap).replace('FULL_DUPLEX_STREAMED', 'FULL_DUPLEX');
  assert.notEqual(validate(dir, JSON.parse(text)), '');
});
