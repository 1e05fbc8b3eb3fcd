import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { loadExample } from '../../test/render/generated.ts';
import { ERRORS } from '../core/error.ts';
import { backendCluster } from './clusters.ts';
import { localReplyConfig } from './local-replies.ts';
import { BOOTSTRAP_FILE, renderEnvoy } from './render-envoy.ts';
import { renderExisting } from './render-existing.ts';

const snapshot = loadExample('tokenlat.yaml');
const options = { nodeId: 'n', dir: '/etc/envoy' };

test('the same snapshot gives the same bytes, in the order to write them', () => {
  const { files } = renderEnvoy(snapshot, options);
  assert.deepEqual([...files], [...renderEnvoy(snapshot, options).files]);
  assert.deepEqual(
    [...files.keys()],
    ['endpoints-vllm-a.yaml', 'clusters.yaml', 'routes.yaml', 'listener.yaml', BOOTSTRAP_FILE],
  );
  assert.deepEqual(
    [...renderExisting(snapshot).files.keys()],
    ['connection-manager.yaml', 'virtual-host.yaml', 'clusters.yaml', 'bootstrap.yaml'],
  );
});

test('words that YAML 1.1 takes for something else are quoted', () => {
  const text = renderEnvoy(snapshot, { ...options, nodeId: 'n' }).files.get(BOOTSTRAP_FILE) ?? '';
  assert.match(text, /id: "n"/);
  assert.equal((parse(text, { version: '1.1' }) as { node: { id: unknown } }).node.id, 'n');
});

test('only the bootstrap depends on the admin port, and on nothing else of the snapshot', () => {
  const before = renderEnvoy(snapshot, options).files;
  const after = renderEnvoy(
    { ...snapshot, listen: { ...snapshot.listen, adminPort: 1 }, retry: { ...snapshot.retry, retries: 0 } },
    options,
  ).files;
  const changed = [...before.keys()].filter((name) => before.get(name) !== after.get(name));
  assert.deepEqual(changed, ['routes.yaml', BOOTSTRAP_FILE]);
});

test('no mapper of local replies can match an answer of ours', () => {
  const { mappers } = localReplyConfig() as {
    mappers: { filter: { extension_filter: { typed_config: { expression: string } } } }[];
  };
  for (const { filter } of mappers) {
    const { expression } = filter.extension_filter.typed_config;
    const beginnings = [...expression.matchAll(/startsWith\('([^']+)'\)/g)].map((match) => match[1] ?? '');
    assert.ok(beginnings.length > 0, expression);
    for (const code of [...Object.keys(ERRORS), 'ext_proc_local_response', 'via_upstream', 'direct_response']) {
      assert.ok(!beginnings.some((beginning) => code.startsWith(beginning)), `${expression} takes ${code}`);
    }
  }
});

test('many backends by address stand in one file: Envoy watches each file at a price', () => {
  const [first] = snapshot.backends.values();
  assert.ok(first !== undefined);
  const many = (count: number) => {
    const made = Array.from({ length: count }, (_, at) => ({
      ...first,
      name: `b${at}`,
      endpoints: [{ host: '10.0.0.1', port: 8000 + at, weight: 1 }],
    }));
    const backends = new Map(made.map((backend) => [backend.name, backend]));
    return renderEnvoy({ ...snapshot, backends }, options).files;
  };
  assert.equal([...many(48).keys()].filter((name) => name.startsWith('endpoints-')).length, 48);
  const files = many(300);
  assert.equal(
    [...files.keys()].some((name) => name.startsWith('endpoints-')),
    false,
  );
  const { resources } = parse(files.get('clusters.yaml') ?? '') as {
    resources: { name: string; type?: string; load_assignment?: object }[];
  };
  const last = resources.find(({ name }) => name === 'b299');
  assert.deepEqual([last?.type, last?.load_assignment === undefined], ['STATIC', false]);
});

test('a host that is gone is found out within `timeouts.dead_host`, over HTTP/2 also a process that hangs', () => {
  const [backend] = snapshot.backends.values();
  assert.ok(backend);
  const clusterOf = (http2: boolean, deadHostMs: number) =>
    backendCluster(
      { ...backend, http2 },
      { ...snapshot.timeouts, deadHostMs },
      { caFile: '/ca', endpoints: null },
    ) as unknown as {
      upstream_connection_options: { tcp_keepalive: object };
      upstream_bind_config: { socket_options: { level: number; name: number; int_value: number }[] };
    };
  const usual = clusterOf(false, 20_000);
  assert.deepEqual(usual.upstream_connection_options.tcp_keepalive, {
    keepalive_time: 10,
    keepalive_interval: 5,
    keepalive_probes: 3,
  });
  const [option] = usual.upstream_bind_config.socket_options;
  assert.deepEqual([option?.level, option?.name, option?.int_value], [6, 18, 20_000]);
  const short = clusterOf(false, 2000).upstream_connection_options.tcp_keepalive;
  assert.deepEqual(short, { keepalive_time: 1, keepalive_interval: 1, keepalive_probes: 3 }, 'whole seconds');
  assert.match(JSON.stringify(clusterOf(true, 20_000)), /"connection_keepalive":\{"interval":"10s","timeout":"10s"\}/);
  assert.doesNotMatch(JSON.stringify(usual), /connection_keepalive/);
});
