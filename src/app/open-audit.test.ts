import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, test } from 'node:test';
import { silentLog, silentMetrics } from '../telemetry/silent.ts';
import { ConfigError } from './config-error.ts';
import { load } from './load.ts';
import { openAudit, silentAudit } from './open-audit.ts';
import { readAudit } from './read-audit.ts';
import { StartupError } from './startup-error.ts';

const root = mkdtempSync(join(tmpdir(), 'tokenlat-open-audit-'));
after(() => rmSync(root, { recursive: true }));
const KEY = '07'.repeat(32);

function config(audit: string): string {
  const path = join(root, `${Math.random()}.yaml`);
  writeFileSync(
    path,
    `version: 1
auth: { api_keys: [{ name: first, key: an-example-key-of-some-length, tenant: demo }] }
backends: [{ name: vllm, endpoints: [{ url: "http://127.0.0.1:8000/v1" }] }]
models: [{ name: m, deployments: [{ backend: vllm, model: m }] }]
${audit}`,
  );
  return path;
}

const open = (path: string) =>
  openAudit(load(path).snapshot, { worker: 0, log: silentLog, metrics: silentMetrics, redis: null });

test('without the section there is no audit', () => {
  const path = config('');
  assert.equal(load(path).snapshot.audit, null);
  assert.equal(open(path), silentAudit);
  assert.throws(() => readAudit(path, []), StartupError);
});

test('from the configuration to a verified log, an export and a prompt', async () => {
  const path = config(
    `audit: { dir: log, key_file: keys/a.pem, prompts: encrypt, prompt_key: "${KEY}", checkpoint: { dir: checkpoints } }`,
  );
  const audit = open(path);
  const facts = { request_id: 'r1', tenant: 'acme', model: 'm', prompt: audit.prompt(['a secret']) };
  audit.append({ kind: 'request', time: Date.now(), facts });
  await audit.close();
  assert.equal(statSync(join(root, 'keys/a.pem')).mode & 0o777, 0o600);
  assert.equal(statSync(join(root, 'log')).mode & 0o777, 0o700);
  assert.match(readFileSync(join(root, 'keys/a.pem.pub'), 'utf8'), /BEGIN PUBLIC KEY/);

  const reader = readAudit(path, [join(root, 'keys/a.pem.pub')]);
  const { ok, records, chains } = await reader.verify();
  assert.deepEqual([ok, records, chains[0]?.unproven], [true, 3, 0]);
  const [found] = await reader.find({ requestId: 'r1' });
  assert.equal(reader.decrypt(found?.record.facts['prompt'] ?? null), '["a secret"]');
  let text = '';
  const to = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  assert.deepEqual(await reader.export({ tenant: 'acme' }, 'jsonl', to), { records: 1, unreadable: 0 });
  assert.equal(text, `${found?.text}\n`);
  assert.equal(text.includes('a secret'), false);
});

test('a key of another kind, or no place for checkpoints, is told at the start', () => {
  writeFileSync(join(root, 'bad.pem'), 'no key');
  const bad = config('audit: { dir: log, key_file: bad.pem, checkpoint: { dir: checkpoints } }');
  assert.throws(() => open(bad), /audit\.key_file cannot be used/);
  const nowhere = config('audit: { dir: log, key_file: keys/a.pem, checkpoint: { redis: true } }');
  assert.throws(() => open(nowhere), /needs a Redis/);
});

for (const [audit, message] of [
  ['{ dir: log, key_file: k.pem }', /:\d+:\d+: audit\.checkpoint\.dir: is needed, or audit\.checkpoint\.redis/],
  ['{ dir: log, key_file: k.pem, checkpoint: { dir: log/x } }', /lies in audit\.dir/],
  ['{ dir: log, key_file: k.pem, checkpoint: { dir: ./log } }', /lies in audit\.dir/],
  ['{ dir: log, key_file: k.pem, prompts: hash, checkpoint: { dir: c } }', /needs audit\.prompt_key/],
  ['{ dir: log, key_file: k.pem, prompts: hash, prompt_key: short, checkpoint: { dir: c } }', /must be 32 bytes/],
] as const) {
  test(`refused: ${audit}`, () => {
    assert.throws(
      () => load(config(`audit: ${audit}`)),
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  });
}
