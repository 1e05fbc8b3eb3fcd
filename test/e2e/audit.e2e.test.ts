import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '../../src/app/wait-until.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const PROMPT = 'the canary of the audit test';

let upstream: MockUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startMockUpstream();
  const answer = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  };
  upstream.respondWith({
    status: 200,
    headers: { 'content-type': 'application/json' },
    chunks: [JSON.stringify(answer)],
  });
  gateway = await startGateway({
    config: {
      backends: [{ name: 'a', endpoints: [{ url: `http://127.0.0.1:${upstream.port}/v1` }] }],
      models: [{ name: 'm', deployments: [{ backend: 'a' }] }],
      audit: {
        dir: 'audit',
        key_file: 'audit.key',
        on_error: 'block',
        checkpoint: { every: '100ms', dir: 'checkpoints' },
      },
    },
  });
});

after(async () => {
  await gateway.stop();
  await upstream.close();
});

const ask = async (id: string, token: string): Promise<number> => {
  const response = await fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-request-id': id },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: PROMPT }] }),
  });
  await response.arrayBuffer();
  return response.status;
};

const cli = (...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'audit', ...words, '-c', gateway.configPath], {
    encoding: 'utf8',
  });
  return { status, text: `${stdout}${stderr}` };
};

const segments = (): string[] =>
  readdirSync(join(gateway.dir, 'audit'))
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(gateway.dir, 'audit', name));

const recorded = (): string =>
  segments()
    .map((name) => readFileSync(name, 'utf8'))
    .join('');

test('every decision is a record, a refusal too, without prompts and credentials', async () => {
  const token = await gateway.token();
  assert.equal(await ask('audited-1', token), 200);
  assert.equal(await ask('audited-2', 'not-a-token'), 401);
  assert.ok(await waitUntil(() => recorded().includes('audited-2'), { timeoutMs: 5000 }));
  const text = recorded();
  for (const id of ['audited-1', 'audited-2']) assert.equal(text.split(`"request_id":"${id}"`).length, 2, id);
  for (const secret of [PROMPT, token, 'not-a-token']) assert.ok(!text.includes(secret));
  const shown = cli('show', 'audited-1');
  assert.equal(shown.status, 0, shown.text);
  assert.match(shown.text, /audited-1/);
});

test('the log verifies, and a changed byte is found', async () => {
  assert.ok(await waitUntil(() => cli('verify').status === 0, { timeoutMs: 10_000, everyMs: 200 }), cli('verify').text);
  const [first = ''] = segments();
  const whole = readFileSync(first, 'utf8');
  writeFileSync(first, whole.replace('"tenant":"acme"', '"tenant":"evil"'));
  const found = cli('verify');
  writeFileSync(first, whole);
  assert.equal(found.status, 4, found.text);
  assert.equal(cli('verify').status, 0);
});
