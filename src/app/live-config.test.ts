import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { silentLog, silentMetrics } from '../telemetry/silent.ts';
import { configReasons, createLiveConfig } from './live-config.ts';
import { load } from './load.ts';
import { waitUntil } from './wait-until.ts';

const LIST = '- {url: "http://10.0.0.1:8000"}\n';
const text = (more = ''): string => `version: 1
redis: {url: "redis://127.0.0.1"}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: a, endpoints_file: list.yaml}]
models: [{name: m, deployments: [{backend: a}]}]
${more}`;

function follow(t: TestContext, more = '') {
  const dir = mkdtempSync(join(tmpdir(), 'tl-live-'));
  const [path, list] = [join(dir, 'tokenlat.yaml'), join(dir, 'list.yaml')];
  writeFileSync(path, text(more));
  writeFileSync(list, LIST);
  const lines: string[] = [];
  const note = (message: string, fields?: object): void =>
    void lines.push(`${message} ${JSON.stringify(fields ?? {})}`);
  const config = createLiveConfig(load(path), { ...silentLog, info: note, warn: note, error: note }, silentMetrics);
  config.follow({ prepare: async () => {}, decided: () => null });
  t.after(() => {
    config.close();
    rmSync(dir, { recursive: true });
  });
  const until = async (holds: () => boolean): Promise<void> =>
    assert.ok(await waitUntil(holds, { timeoutMs: 5000 }), lines.join('\n'));
  return { config, lines, path, list, until };
}

test('a file that cannot be used is named, and the log tells when it was put right', async (t) => {
  const { config, lines, list, until } = follow(t);
  writeFileSync(list, '[]\n');
  await until(() => config.problem() !== null);
  assert.match(configReasons(config).join(), /^config: list\.yaml:1:1 /);
  assert.equal(config.current().backends.get('a')?.endpoints.length, 1);
  writeFileSync(list, LIST);
  await until(() => config.problem() === null);
  assert.deepEqual(configReasons(config), []);
  assert.match(lines.at(-1) ?? '', /^configuration put right .*"generation":1/);
});

test('what only a restart takes up is told until the file is as it was', async (t) => {
  const { config, lines, path, until } = follow(t);
  writeFileSync(path, text('listen: {admin_port: 9999}\nserver: {ops: {port: 9100}}\n'));
  await until(() => config.awaitingRestart().length > 0);
  assert.deepEqual(configReasons(config), [
    'config: server needs a restart',
    'config: listen.admin_port needs a restart',
  ]);
  assert.ok(
    lines.some((line) => /^only a restart .*"server, listen\.admin_port"/.test(line)),
    lines.join('\n'),
  );
  writeFileSync(path, text());
  await until(() => config.awaitingRestart().length === 0);
});
