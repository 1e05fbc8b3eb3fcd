import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stringify } from 'yaml';
import { quietPorts } from '../support/quiet-ports.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { type Ended, runTokenlat, serverChild } from './rig/server-child.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-s-'));
after(() => rmSync(dir, { recursive: true, force: true }));

const [listen = 0, admin = 0, ops = 0, nobody = 0] = await quietPorts(4);
let files = 0;

function configFile(part: object = {}): string {
  files += 1;
  const path = join(dir, `config-${files}.yaml`);
  const base = {
    version: 1,
    listen: { address: '127.0.0.1', port: listen, admin_port: admin },
    server: { socket_dir: join(dir, 's'), ops: { address: '127.0.0.1', port: ops } },
    auth: {
      issuers: [{ issuer: 'i', algorithms: ['HS256'], secret: 'a-shared-secret-of-the-tests-0123456789abcdef' }],
    },
    backends: [{ name: 'b', dialect: 'openai', endpoints: [{ url: `http://127.0.0.1:${nobody}/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'b' }] }],
  };
  writeFileSync(path, stringify({ ...base, ...part }));
  return path;
}

/** One line, `tokenlat: …`, and nothing that looks like a stack. */
function assertOneLine({ code, stderr }: Ended, what: RegExp): void {
  const lines = stderr.trim().split('\n');
  assert.equal(lines.length, 1, stderr);
  assert.match(lines[0] ?? '', /^tokenlat: /);
  assert.match(lines[0] ?? '', what);
  assert.equal(code, 1);
}

async function taken(port: number): Promise<net.Server> {
  const server = net.createServer();
  server.listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return server;
}

for (const { command, port, key } of [
  { command: 'serve', port: ops, key: 'server.ops.port' },
  { command: 'up', port: listen, key: 'listen.port' },
  { command: 'up', port: admin, key: 'listen.admin_port' },
  { command: 'up', port: ops, key: 'server.ops.port' },
]) {
  test(`${command}: ${key} is taken`, async () => {
    const server = await taken(port);
    try {
      const ended = await runTokenlat([command, '-c', configFile(), '--state', join(dir, 'state')]);
      assertOneLine(ended, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is taken.*${key.replaceAll('.', '\\.')}`));
    } finally {
      server.close();
    }
  });
}

for (const workers of [1, 2]) {
  test(`serve: another server has the sockets (${workers} workers)`, async () => {
    const [otherOps = 0] = await quietPorts(1);
    const sockets = join(dir, `sockets-${workers}`);
    const server = (port: number): object => ({ workers, socket_dir: sockets, ops: { address: '127.0.0.1', port } });
    const first = serverChild({
      config: configFile({ server: server(otherOps) }),
      state: join(dir, `first-${workers}`),
      opsPort: otherOps,
      logFile: join(dir, `first-${workers}.log`),
    });
    await first.start();
    try {
      const ended = await runTokenlat([
        'serve',
        '-c',
        configFile({ server: server(ops) }),
        '--state',
        join(dir, `second-${workers}`),
      ]);
      assertOneLine(ended, /another process listens on .*worker-\d\.sock/);
      assert.ok((await fetch(`${first.ops}/readyz`)).ok, 'the first one is unharmed');
    } finally {
      assert.equal(await first.term(), 0);
    }
  });
}

test('up: no Envoy on the path', async () => {
  const env = { PATH: '/nonexistent', TOKENLAT_ENVOY_BIN: '', ENVOY_BIN: '' };
  assertOneLine(
    await runTokenlat(['up', '-c', configFile(), '--state', join(dir, 'state')], { env }),
    /no Envoy: set ENVOY_BIN/,
  );
});

test('up: what should be Envoy is none', async () => {
  const env = { TOKENLAT_ENVOY_BIN: '/nonexistent/envoy' };
  assertOneLine(
    await runTokenlat(['up', '-c', configFile(), '--state', join(dir, 'state')], { env }),
    /\/nonexistent\/envoy/,
  );
});

test('up: no Redis program and none configured', async () => {
  const env = { PATH: '/nonexistent', TOKENLAT_REDIS_BIN: '' };
  assertOneLine(
    await runTokenlat(['up', '-c', configFile(), '--state', join(dir, 'state')], { env }),
    /no Redis: set redis\.url/,
  );
});

test('trace: Redis does not answer', async () => {
  const config = configFile({ redis: { url: `redis://user:secret-word@127.0.0.1:${nobody}` } });
  const ended = await runTokenlat(['trace', 'some-id', '-c', config]);
  assertOneLine(ended, /Redis does not answer at redis:/);
  assert.doesNotMatch(ended.stderr, /secret-word/);
});

test('serve: Redis away at the start: it waits in the open, and says so', async () => {
  const config = configFile({ redis: { url: `redis://127.0.0.1:${nobody}` } });
  const server = serverChild({ config, state: join(dir, 'away'), opsPort: ops, logFile: join(dir, 'away.log') });
  const starting = server.start(15_000);
  try {
    let response = new Response();
    const answers = async (): Promise<boolean> => {
      response = await fetch(`${server.ops}/readyz`).catch(() => new Response());
      return response.status !== 200;
    };
    assert.ok(await waitUntil(answers, { timeoutMs: 15_000 }), 'no listener for operators');
    assert.equal(response.status, 503);
    assert.deepEqual(await response.json(), { status: 'not_ready', reasons: ['store: down'] });
    assert.equal((await fetch(`${server.ops}/healthz`)).status, 200);
  } finally {
    assert.equal(await server.term(), 0);
  }
  await assert.rejects(starting, /not ready/);
});

for (const command of ['serve', 'up'] as const) {
  test(`${command}: a configuration that is not fit to run`, async () => {
    const config = configFile({ models: [{ name: 'm', deployments: [{ backend: 'nowhere' }] }] });
    const { code, stderr } = await runTokenlat([command, '-c', config, '--state', join(dir, 'state')]);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /config-\d+\.yaml:\d+:\d+: .*nowhere/);
    assert.doesNotMatch(stderr, /at .*\.ts:\d+/);
  });

  test(`${command}: no such configuration`, async () => {
    const { code, stderr } = await runTokenlat([command, '-c', join(dir, 'none.yaml'), '--state', join(dir, 'state')]);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /none\.yaml/);
  });
}

test('words that are off', async () => {
  const { code } = await runTokenlat(['serve', '--nonsense']);
  assert.equal(code, 2);
});
