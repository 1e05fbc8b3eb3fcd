import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('./worker-main.ts', import.meta.url));

const CONFIG = `version: 1
server: { ops: { address: 127.0.0.1, port: 1 }, socket_dir: s }
auth: { issuers: [ { issuer: dev, algorithms: [HS256], secret: 0123456789abcdef0123456789abcdef } ] }
backends: [ { name: a, endpoints: [ { url: "http://127.0.0.1:9/v1" } ] } ]
models: [ { name: m, deployments: [ { backend: a } ] } ]
`;

function worker(t: TestContext, config: string): { child: ChildProcess; gone: Promise<number | null> } {
  const dir = mkdtempSync(join(tmpdir(), 'tl-'));
  mkdirSync(join(dir, 's'));
  writeFileSync(join(dir, 'tokenlat.yaml'), config);
  const child = fork(ENTRY, [join(dir, 'tokenlat.yaml'), '0', dir, join(dir, 'log')]);
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await gone;
    rmSync(dir, { recursive: true, force: true });
  });
  return { child, gone };
}

test('a worker whose primary goes away while it starts does not stay behind', { timeout: 20_000 }, async (t) => {
  const { child, gone } = worker(t, CONFIG);
  child.disconnect();
  assert.equal(await gone, 0);
});

test('a worker that cannot start says why and ends', { timeout: 20_000 }, async (t) => {
  const { child, gone } = worker(t, 'version: 1\n');
  const said = await new Promise<unknown>((resolve) => child.once('message', resolve));
  assert.match(JSON.stringify(said), /"kind":"failed".*auth/);
  assert.equal(await gone, 1);
});
