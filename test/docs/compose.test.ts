import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT } from '../../scripts/cache.mjs';
import { load } from '../../src/app/load.ts';
import { renderEnvoy } from '../../src/render/render-envoy.ts';
import { staticBootstrap, validate } from '../render/envoy.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-compose-'));
after(() => fs.rmSync(dir, { recursive: true }));

const text = fs.readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8');

/** The part of the Compose specification (github.com/compose-spec/compose-spec) that the file uses. */
const command = z.array(z.string()).min(1);
const time = z.string().regex(/^\d+s$/);
const service = z
  .strictObject({
    image: z.string().regex(/^[\w/.-]+:[\w.-]+$/),
    build: z.string(),
    user: z.string(),
    working_dir: z.string(),
    command,
    environment: z.record(z.string().regex(/^[A-Z_]+$/), z.string()),
    ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)),
    volumes: z.array(
      z.union([
        z.string().regex(/^(\.\/[\w/-]+|\w+):\/[\w/-]+(:ro)?$/),
        z.strictObject({
          type: z.literal('volume'),
          source: z.string(),
          target: z.string(),
          read_only: z.boolean(),
          volume: z.strictObject({ nocopy: z.boolean() }),
        }),
      ]),
    ),
    healthcheck: z.strictObject({
      test: z.tuple([z.literal('CMD')], z.string()),
      interval: time,
      timeout: time,
      retries: z.int(),
    }),
    depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })),
    stop_grace_period: time,
    read_only: z.boolean(),
    cap_drop: z.tuple([z.literal('ALL')]),
    security_opt: z.tuple([z.literal('no-new-privileges:true')]),
    restart: z.literal('unless-stopped'),
  })
  .partial();
const compose = z.strictObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
});
const { services, volumes } = compose.parse(parse(text));

test('the schema finds a key that there is not', () => {
  assert.throws(() => compose.parse(parse(text.replace('healthcheck:', 'health:'))));
});

test('whole gateway: every part is there, checked, and runs without rights', () => {
  assert.deepEqual(Object.keys(services).toSorted(), ['backend-a', 'backend-b', 'envoy', 'redis', 'tokenlat']);
  for (const [name, part] of Object.entries(services)) {
    assert.ok(part.healthcheck !== undefined, name);
    assert.ok(part.cap_drop !== undefined && part.security_opt !== undefined, name);
    // TokenLat's image names its user itself.
    if (name === 'tokenlat') assert.match(fs.readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8'), /^USER node$/m);
    else assert.ok(part.user !== undefined && !/^(root|0)\b/.test(part.user), name);
    for (const other of Object.keys(part.depends_on ?? {})) assert.ok(other in services, other);
  }
  assert.equal(services['envoy']?.image, 'envoyproxy/envoy:v1.40.0');
  for (const argument of ['--appendonly', 'noeviction'])
    assert.ok(services['redis']?.command?.includes(argument), argument);
});

test('every volume is declared, and every file that is mounted or run exists', () => {
  for (const part of Object.values(services)) {
    for (const volume of part.volumes ?? []) {
      const source = typeof volume === 'string' ? (volume.split(':')[0] ?? '') : volume.source;
      if (source.startsWith('.')) assert.ok(fs.existsSync(path.join(ROOT, source)), source);
      else assert.ok(source in volumes, source);
    }
  }
  const server = services['backend-a']?.command?.[1] ?? '';
  assert.ok(fs.existsSync(path.join(ROOT, 'scripts', 'demo', 'model-servers', server)), server);
});

test('its configuration is fit to run, fits the services, and gives an Envoy configuration that is valid', () => {
  const { TOKENLAT_KEY = '', REDIS_URL = '' } = services['tokenlat']?.environment ?? {};
  const fallback = /^\$\{TOKENLAT_KEY:-(.+)\}$/.exec(TOKENLAT_KEY)?.[1] ?? '';
  assert.ok(text.includes(`left out, it is \`${fallback}\``), 'the default of the demo is documented');
  Object.assign(process.env, { TOKENLAT_KEY: fallback, REDIS_URL });
  const { snapshot, warnings } = load(path.join(ROOT, 'examples', 'compose', 'tokenlat.yaml'));
  assert.deepEqual(warnings, []);
  assert.equal(snapshot.listen.port, 10_000);
  assert.ok(snapshot.redis?.url.includes('//redis:'));
  for (const { endpoints } of snapshot.backends.values()) {
    for (const { host, port } of endpoints)
      assert.ok(services[host]?.command?.includes(String(port)), `${host}:${port}`);
  }
  const mount = '/run/tokenlat';
  const { transport } = snapshot.server;
  assert.ok(transport.kind === 'unix' && transport.socketDir === mount);
  const folder = `${mount}/envoy`;
  assert.ok(
    services['tokenlat']?.command?.includes(folder) && services['envoy']?.command?.includes(`${folder}/envoy.yaml`),
  );
  const { files } = renderEnvoy(snapshot, { nodeId: 'tokenlat', dir: folder });
  assert.equal(validate(dir, staticBootstrap(files)), '');
});
