import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXPLAINED } from '../../admin/admin-kit.test.ts';
import type { ExplainAsk, Explained } from '../../admin/admin-deps.ts';
import { cliKit } from '../cli-kit.test.ts';
import { routeCommand } from './route.ts';

const asked: ExplainAsk[] = [];
let answer: Explained = EXPLAINED;
const kit = await cliKit({
  explain: (ask) => {
    asked.push(ask);
    return answer;
  },
});

test('every candidate with its terms, and what decided', async () => {
  const { out, error } = await kit.run(routeCommand, [
    'explain',
    'auto',
    '--tenant',
    'acme',
    '--type',
    'code',
    '--session',
    's-1',
    '--stream',
  ]);
  assert.equal(error, null);
  const [head, words, title, , row] = out.split('\n');
  assert.deepEqual([head, words], ['route r (match), class code of work by text', 'one candidate']);
  assert.match(
    title ?? '',
    /^# +deployment +reason +cost +latency +quality +score +less load +health +running +warm +ms +cost µ +weight +load/,
  );
  assert.match(
    row ?? '',
    /^1 +m@b +best_score +1 +0\.5 +0\.25 +0\.6 +0\.55 +1 +3 +0\.75 +800 +42 +1 +\[#+\.+\] +25 %$/,
  );
  assert.deepEqual(asked.at(-1), {
    tenant: 'acme',
    model: 'auto',
    endpoint: 'chat',
    type: 'code',
    class: null,
    prompt: null,
    session: 's-1',
    stream: true,
    promptTokens: 100,
    maxTokens: null,
    timeoutMs: null,
    tier: null,
    businessLine: null,
    scopes: [],
  });
});

test('a refusal is told as the client would read it', async () => {
  answer = {
    ...EXPLAINED,
    route: null,
    reason: null,
    candidates: [],
    refused: { code: 'model_not_found', status: 404, message: 'none' },
  };
  const { out, error } = await kit.run(routeCommand, ['explain', 'x', '--tenant', 'acme']);
  assert.equal(error, null);
  assert.equal(out, 'refused: 404 model_not_found: none\n');
  answer = { ...EXPLAINED, fallbackReason: 'circuit_breaker_open' };
  assert.match(
    (await kit.run(routeCommand, ['explain', 'x', '--tenant', 'acme'])).out,
    /another one than usual: circuit_breaker_open/,
  );
});

test('programs get it as it is, and wrong words are told', async () => {
  answer = EXPLAINED;
  const { json } = await kit.run(routeCommand, ['explain', 'x', '--tenant', 'acme', '--json']);
  assert.equal(json()['object'], 'explain');
  const { error } = await kit.run(routeCommand, ['explain', 'x', '--tenant', 'acme', '--endpoint', 'images']);
  assert.match(String(error), /endpoint/);
});
