import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '../../src/app/wait-until.ts';
import { useGateway } from '../support/use-gateway.ts';

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const PROMPT = 'the canary of the audit test';

const answer = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};
const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [
      { name: 'a', endpoints: [{ url: `http://127.0.0.1:${upstream.port}/v1` }] },
      { name: 'away', endpoints: [{ url: 'http://127.0.0.1:9/v1' }] },
    ],
    models: [
      {
        name: 'm',
        deployments: [{ backend: 'a', model: 'org/m-8b', price: { prompt_per_mtok: 2, completion_per_mtok: 3 } }],
      },
      { name: 'n', deployments: [{ backend: 'away' }], fallback: ['m'] },
    ],
    filter: { terms: ['other', 'forbidden fruit'] },
    audit: {
      dir: 'audit',
      key_file: 'audit.key',
      on_error: 'block',
      checkpoint: { every: '100ms', dir: 'checkpoints' },
    },
  }),
});
upstream.respondWith({
  status: 200,
  headers: { 'content-type': 'application/json' },
  chunks: [JSON.stringify(answer)],
});

const ask = async (id: string, token: string, { model = 'm', content = PROMPT } = {}): Promise<number> => {
  const response = await fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-request-id': id },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
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
  assert.ok(await waitUntil(() => recorded().includes('audited-2'), { timeoutMs: 15_000 }));
  const text = recorded();
  for (const id of ['audited-1', 'audited-2']) assert.equal(text.split(`"request_id":"${id}"`).length, 2, id);
  for (const secret of [PROMPT, token, 'not-a-token']) assert.ok(!text.includes(secret));
  const shown = cli('show', 'audited-1');
  assert.equal(shown.status, 0, shown.text);
  assert.match(shown.text, /audited-1/);
});

/** The facts of the one record of a request. */
const factsOf = async (id: string): Promise<Record<string, unknown>> => {
  assert.ok(await waitUntil(() => recorded().includes(`"request_id":"${id}"`), { timeoutMs: 15_000 }));
  const { status, text } = cli('show', id, '--json');
  assert.equal(status, 0, text);
  return (JSON.parse(text) as { facts: Record<string, unknown> }).facts;
};

test('a record tells who could serve, each try, who served and what it was then, and what the filter said', async () => {
  assert.equal(await ask('audited-3', await gateway.token(), { model: 'n' }), 200);
  const facts = await factsOf('audited-3');
  assert.deepEqual(facts['candidates'], [
    { deployment: 'n@away', place: 1, reason: 'explicit' },
    { deployment: 'm@a', place: 2, reason: 'fallback' },
  ]);
  const attempts = facts['attempts'] as readonly { attempt: number; backend: string; outcome: string }[];
  assert.deepEqual(
    attempts.map(({ attempt, backend, outcome }) => [attempt, backend, outcome]),
    [
      [1, 'away', 'failed_over'],
      [2, 'a', 'served'],
    ],
  );
  assert.deepEqual(facts['deployment'], {
    id: 'm@a',
    model: 'm',
    upstream_model: 'org/m-8b',
    backend: 'a',
    dialect: 'openai',
    cost_tier: 'core',
    price: { currency: 'USD', valid_from: null, prompt: 2_000_000, cached: 2_000_000, completion: 3_000_000 },
  });
  assert.deepEqual(facts['safety'], { verdict: 'clean', rule: '1 texts against 2 terms' });
  assert.equal(facts['cost'], '0.000009');
});

test('a hit of the filter is on record by its rule, without the text', async () => {
  assert.equal(await ask('audited-4', await gateway.token(), { content: 'of f0rb1dden fruit' }), 400);
  const facts = await factsOf('audited-4');
  assert.deepEqual(facts['safety'], {
    verdict: 'refused',
    rule: 'content_filter: term 1 in messages[0].content (leet)',
  });
  assert.doesNotMatch(JSON.stringify(facts), /f0rb1dden|forbidden/);
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
