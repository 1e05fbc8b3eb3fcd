import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { formatProblems } from '../../src/config/problem.ts';
import type { Snapshot } from '../../src/core/snapshot.ts';
import { diagnose } from '../../src/render/doctor/diagnose.ts';
import { AFFINITY_HEADER } from '../../src/core/envoy-headers.ts';
import { renderEnvoy } from '../../src/render/render-envoy.ts';
import { writeFiles } from '../../src/render/write-files.ts';
import { quietPorts } from '../support/quiet-ports.ts';
import { startEnvoy, staticBootstrap, validate } from './envoy.ts';
import type { RunningEnvoy } from './envoy.ts';
import { startFakeProcessor } from './fake-processor.ts';
import type { Call } from './fake-processor.ts';
import { selfSigned } from './self-signed.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tlr-'));
const folder = path.join(dir, 'envoy');
const OURS = '{"error":{"message":"no","type":"authentication_error","param":null,"code":"invalid_credentials"}}';
let envoy: RunningEnvoy;
let processor: { readonly calls: Call[]; readonly close: () => void };
let port = 0;
let adminPort = 0;

function config(extra = ''): Snapshot {
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(
    file,
    `version: 1
server: {socket_dir: ${dir}}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
models: [{name: m, deployments: [{backend: "on"}]}]
${extra.includes('listen:') ? '' : `listen: {address: 127.0.0.1, port: ${port}, admin_port: ${adminPort}}\n`}${extra.includes('backends:') ? '' : 'backends: [{name: "on", endpoints: [{url: "http://127.0.0.1:9"}]}]\n'}${extra}`,
  );
  const result = loadConfig({ path: file, checkMatch: () => null, dialects: ['openai'], generation: 1, env: {} });
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.snapshot;
}

const render = (snapshot: Snapshot) => renderEnvoy(snapshot, { nodeId: 'n', dir: folder }).files;

before(async () => {
  [port = 0, adminPort = 0] = await quietPorts(2);
  processor = await startFakeProcessor(path.join(dir, 'worker-0.sock'), OURS);
  writeFiles(folder, render(config()));
  envoy = await startEnvoy(folder, adminPort);
});

after(async () => {
  await envoy.stop();
  processor.close();
  fs.rmSync(dir, { recursive: true });
});

/** Sends bytes as they are and gives what comes back until the connection closes or stays silent. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    let got = '';
    socket.setTimeout(2500, () => socket.destroy());
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
      // Whole answers of ours end with the closing braces of the error object.
      if (got.endsWith('}}')) socket.destroy();
    });
    socket.on('close', () => resolve(got));
    socket.on('error', reject);
  });
}

const stat = async (name: string): Promise<number> =>
  Number(/: (\d+)/.exec(await envoy.admin(`/stats?filter=${name}`))?.[1] ?? 0);

async function until(done: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 6000;
  while (!(await done())) {
    assert.ok(performance.now() < end, envoy.output());
    await sleep(50);
  }
}

test('our own answers pass unchanged, and the head we see is clean', async () => {
  processor.calls.length = 0;
  const head = [
    'GET /a/../v1//models HTTP/1.1',
    'host: x',
    'x-request-id: 00000000-0000-4000-8000-000000000000',
    'x-tokenlat-id: 0-forged',
    `${AFFINITY_HEADER}: forged`,
    'x-envoy-max-retries: 99-forged',
    'X-Envoy-Retry-On: forged',
    'x-envoy-original-path: /forged',
  ];
  const answer = await raw(`${head.join('\r\n')}\r\n\r\n`);
  assert.match(answer, /^HTTP\/1.1 401 /);
  assert.ok(answer.endsWith(OURS), answer);
  assert.ok(!answer.includes('x-error-source'));
  const [call] = processor.calls;
  const text = call?.first.toString('latin1') ?? '';
  assert.ok(!text.includes('forged'), text);
  assert.ok(text.includes('/v1/models'));
  assert.ok(text.includes('00000000-0000-4000-8000-000000000000'));
  assert.equal(call?.metadata['tokenlat-level'], 'request');
  const key = call?.metadata[AFFINITY_HEADER];
  assert.match(String(key), /^[0-9a-f-]{36}$/);
  assert.ok(text.includes(String(key)), 'the key in the metadata is the one in the head');
});

test('each request has an affinity key of its own', async () => {
  processor.calls.length = 0;
  await Promise.all(Array.from({ length: 5 }, () => raw('GET / HTTP/1.1\r\nhost: x\r\nx-request-id: same\r\n\r\n')));
  assert.equal(new Set(processor.calls.map((call) => call.metadata[AFFINITY_HEADER])).size, 5);
});

const BIG = (bytes: number) => `GET / HTTP/1.1\r\nhost: x\r\nbig: ${'a'.repeat(bytes)}\r\n\r\n`;
const REFUSALS: readonly [name: string, request: string, status: number, code: string][] = [
  ['an escaped slash', 'GET /v1%2Fmodels HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'invalid_path'],
  ['NUL in the path', 'GET /%00 HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'invalid_path'],
  ['an underscore in a header name', 'GET / HTTP/1.1\r\nhost: x\r\nx_a: b\r\n\r\n', 400, 'invalid_header'],
  ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, 'invalid_header'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n',
    400,
    'invalid_header',
  ],
  ['no HTTP at all', 'HELLO\r\n\r\n', 400, 'invalid_header'],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\nhost: x\r\n\r\n', 426, 'upgrade_not_supported'],
  ['70 KiB of headers', BIG(70_000), 431, 'request_headers_too_large'],
];

for (const [name, request, status, code] of REFUSALS) {
  test(`Envoy refuses in our shape: ${name}`, async () => {
    const answer = await raw(request);
    assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer);
    assert.match(answer, /\r\ncontent-type: application\/json\r\n/);
    assert.match(answer, /\r\nx-error-source: gateway\r\n/);
    const { error } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { error: Record<string, unknown> };
    assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code']);
    assert.equal(error['code'], code);
  });
}

test('50 KiB of headers reach us', async () => {
  assert.match(await raw(BIG(50_000)), /^HTTP\/1.1 401 /);
});

test('HTTP/2 reaches us too', async () => {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':path': '/v1/models' });
  const status = await new Promise((resolve) => stream.once('response', (head) => resolve(head[':status'])));
  assert.equal(status, 401);
  session.destroy();
});

test('the doctor has nothing to say', async () => {
  const findings = diagnose({
    configDump: JSON.parse(await envoy.admin('/config_dump')),
    stats: await envoy.admin('/stats'),
    serverInfo: JSON.parse(await envoy.admin('/server_info')),
    snapshot: config(),
  });
  assert.deepEqual(findings, []);
});

test('endpoints, routes and listener change without a restart', async () => {
  const snapshot = config(
    `backends: [{name: "on", endpoints: [{url: "http://127.0.0.2:9", weight: 3}]}, {name: new, endpoints: [{url: "http://localhost:9"}]}]\nretry: {retries: 1}\ntimeouts: {idle: 7s}\n`,
  );
  const written = writeFiles(folder, render(snapshot));
  assert.ok(!written.includes('envoy.yaml'), 'the bootstrap stays');
  await until(async () => {
    const [clusters, dump] = [await envoy.admin('/clusters'), await envoy.admin('/config_dump')];
    return (
      clusters.includes('127.0.0.2:9') && clusters.includes('new::') && dump.includes('"per_try_idle_timeout": "8s"')
    );
  });
  for (const name of ['update_rejected', 'update_failure']) {
    const stats = await envoy.admin(`/stats?filter=${name}`);
    assert.ok(!/: [1-9]/.test(stats), stats);
  }
  assert.match(await raw('GET / HTTP/1.1\r\nhost: x\r\n\r\n'), /^HTTP\/1.1 401 /);
  writeFiles(folder, render(config()));
  await until(async () => !(await envoy.admin('/clusters')).includes('new::'));
  assert.deepEqual(
    fs.readdirSync(folder).filter((name) => name.startsWith('endpoints-')),
    ['endpoints-on.yaml'],
  );
});

test('with TLS on, Envoy takes the certificate from its file', async () => {
  const { cert, key } = selfSigned('gateway.example.org');
  fs.writeFileSync(path.join(dir, 'tls.crt'), cert);
  fs.writeFileSync(path.join(dir, 'tls.key'), key);
  const tls = `listen: {address: 127.0.0.1, port: ${port}, admin_port: ${adminPort}, tls: {cert: tls.crt, key: tls.key}}\n`;
  writeFiles(folder, render(config(tls)));
  const ask = (): Promise<number> =>
    new Promise((resolve) => {
      const session = http2.connect(`https://127.0.0.1:${port}`, { ca: cert, servername: 'gateway.example.org' });
      session.on('error', () => resolve(0));
      session
        .request({ ':path': '/' })
        .on('response', (head) => {
          session.destroy();
          resolve(Number(head[':status']));
        })
        .on('error', () => {});
    });
  await until(async () => (await ask()) === 401);
  writeFiles(folder, render(config()));
  await until(async () => (await raw('GET / HTTP/1.1\r\nhost: x\r\n\r\n').catch(() => '')).startsWith('HTTP/1.1 401'));
});

test('TLS to backends and to workers is valid for Envoy', () => {
  const { cert, key } = selfSigned('w');
  fs.writeFileSync(path.join(dir, 'w.crt'), cert);
  fs.writeFileSync(path.join(dir, 'w.key'), key);
  const snapshot = {
    ...config(`backends:
  - {name: "on", endpoints: [{url: "https://a.example/v1"}], http2: true, health: {http: {}}}
  - {name: two, endpoints: [{url: "https://a.example"}, {url: "https://b.example"}]}
  - {name: ip, endpoints: [{url: "https://[2001:db8::1]:8443"}]}
`),
    server: {
      ...config().server,
      workers: 3,
      transport: {
        kind: 'tcp' as const,
        address: 'workers.example',
        port: 9100,
        mtls: { cert: path.join(dir, 'w.crt'), key: path.join(dir, 'w.key'), ca: path.join(dir, 'w.crt') },
      },
    },
  };
  const files = renderEnvoy(snapshot, { nodeId: 'n', dir: folder, caFile: path.join(dir, 'w.crt') }).files;
  assert.equal(validate(dir, staticBootstrap(files)), '');
});

test('a request without a plan ends at the placeholder, in our shape', async () => {
  const files = new Map(render(config()));
  const routes = parse(files.get('routes.yaml') ?? '') as {
    resources: { virtual_hosts: { routes: Record<string, unknown>[] }[] }[];
  };
  for (const route of routes.resources[0]?.virtual_hosts[0]?.routes ?? []) delete route['typed_per_filter_config'];
  writeFiles(folder, files.set('routes.yaml', JSON.stringify(routes)));
  processor.calls.length = 0;
  await until(async () => (await raw('GET / HTTP/1.1\r\nhost: x\r\n\r\n')).includes('"code":"no_candidate"'));
  const before = processor.calls.length;
  assert.match(await raw('GET / HTTP/1.1\r\nhost: x\r\n\r\n'), /^HTTP\/1.1 503 /);
  assert.equal(processor.calls.length, before);
  assert.equal(await stat('cluster.on.upstream_rq_total'), 0);
  const findings = diagnose({
    configDump: JSON.parse(await envoy.admin('/config_dump')),
    stats: '',
    serverInfo: JSON.parse(await envoy.admin('/server_info')),
    snapshot: config(),
  });
  assert.deepEqual(
    findings.map((finding) => finding.code),
    ['filter_off', 'filter_off', 'filter_off', 'filter_off', 'watch_routes', 'direct_route'],
  );
  writeFiles(folder, render(config()));
  await until(async () => (await raw('GET / HTTP/1.1\r\nhost: x\r\n\r\n')).startsWith('HTTP/1.1 401'));
});

test('when our server is gone, clients get JSON with retry-after, and nothing passes', async () => {
  processor.close();
  await sleep(100);
  const answer = await raw('GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n');
  assert.match(answer, /^HTTP\/1.1 503 /);
  assert.match(answer, /\r\nretry-after: 1\r\n/);
  assert.match(answer, /"code":"processor_unavailable"/);
  assert.equal(await stat('cluster.on.upstream_rq_total'), 0);
  // The access log is written in batches, the last one at the end.
  await envoy.stop();
  const lines = envoy
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const last = JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>;
  assert.equal(last['status'], 503);
  assert.ok('prompt_tokens' in last);
});
