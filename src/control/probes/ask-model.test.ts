import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDialects } from '../../app/dialects.ts';
import { HeaderList } from '../../core/http.ts';
import { createOpenAiClient } from '../../dialects/openai/dialect.ts';
import type { Answered, Question } from '../http/ask.ts';
import { askModel } from './ask-model.ts';
import { probeEvent } from './book-probe.ts';
import { answer, backend, configOf, deployment, desk } from './probe-kit.test.ts';

const { backends: dialects } = createDialects({ templates: null });
const { limits } = configOf(backend('b'));

async function asked(dialectName: string, reply: Answered | Error, slowMs = 0) {
  const { clock } = desk();
  const questions: Question[] = [];
  const dialect = dialects.get(dialectName);
  assert.ok(dialect);
  const on = backend('b', null, { dialect: dialectName, basePath: '/base' });
  const spoken = await askModel(
    {
      deployment: { ...deployment('m', on), chatTemplate: dialectName === 'vllm-generate' ? 'chatml' : null },
      maxTokens: 1,
      timeoutMs: 2000,
      dialect,
      request: (model, maxTokens) =>
        createOpenAiClient().parse(
          { method: 'POST', path: '/v1/chat/completions', headers: new HeaderList([]) },
          Buffer.from(
            JSON.stringify({ model, messages: [{ role: 'user', content: 'Say ok.' }], max_tokens: maxTokens }),
          ),
          limits,
        ),
      limits,
      clock,
      ask: async (question) => {
        questions.push(question);
        clock.at += slowMs;
        if (reply instanceof Error) throw reply;
        return reply;
      },
    },
    { host: '10.0.0.1', port: 8000, weight: 1 },
  );
  const [question] = questions;
  assert.ok(question !== undefined && questions.length === 1);
  return { ...spoken, question, sent: JSON.parse(String(question.body)) as Record<string, unknown> };
}

const chat = (content: string, usage: object | null = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }) =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'length' }],
    ...(usage && { usage }),
  });

test('a word from a model, asked as a client would be passed on, with the credentials of the backend', async () => {
  const { up, usage, question, sent } = await asked('openai', answer(200, chat('ok')));
  assert.deepEqual([up, usage?.prompt, usage?.completion, usage?.source], [true, 9, 1, 'upstream']);
  assert.deepEqual([question.method, question.path, question.host], ['POST', '/base/chat/completions', '10.0.0.1']);
  assert.deepEqual([sent['model'], sent['max_tokens'], sent['stream'] ?? false], ['m-there', 1, false]);
  assert.ok(question.headers.some(([name, value]) => name === 'authorization' && value === 'Bearer ours'));
  assert.ok(question.headers.every(([name]) => !name.startsWith(':')));
});

test('in every dialect', async () => {
  const message = {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'x',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'max_tokens',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 1 },
  };
  const anthropic = await asked('anthropic', answer(200, JSON.stringify(message)));
  assert.deepEqual([anthropic.up, anthropic.usage?.prompt, anthropic.question.path], [true, 9, '/base/messages']);
  const generate = await asked('vllm-generate', answer(200, JSON.stringify({ text: ['ok'] })));
  assert.equal(generate.question.path, '/base/generate');
  assert.equal(generate.usage?.source, 'estimate');
});

test('empty, broken and failed answers are bad signs; refusals none at all', async () => {
  const of = async (reply: Answered | Error) => {
    const { up, detail } = await asked('openai', reply);
    return [up, detail];
  };
  assert.deepEqual(await of(answer(200, chat(''))), [false, 'an empty answer']);
  assert.equal((await of(answer(200, '{"id":')))[0], false);
  assert.equal((await of(answer(200, '<html>', 'text/html')))[0], false);
  assert.deepEqual(await of(answer(500, '{"error":{"message":"x"}}')), [false, 'answered 500']);
  assert.deepEqual(await of(answer(302, '')), [false, 'answered 302']);
  assert.deepEqual(await of(new Error('connect ECONNREFUSED')), [false, 'connect ECONNREFUSED']);
  // Full, no chat model, not allowed: none of that says that it is ill.
  for (const status of [400, 401, 404, 429]) assert.deepEqual(await of(answer(status)), [null, `answered ${status}`]);
});

test('what was used is paid for: as it says, else by estimate, also when it was cut off', async () => {
  const used = async (reply: Answered | Error, slowMs = 0) => (await asked('openai', reply, slowMs)).usage;
  assert.deepEqual((await used(answer(200, chat('ok', null))))?.source, 'estimate');
  const cut = await used(new Error('no answer in 2000 ms'), 2000);
  assert.deepEqual([cut?.source, cut?.completion, (cut?.prompt ?? 0) > 3], ['estimate', 1, true]);
  assert.equal(await used(new Error('refused'), 3), null);
  assert.equal(await used(answer(500, '{}')), null);
});

test("it is the gateway's cost, of the line `probe`", () => {
  const usage = { prompt: 9, cached: 0, completion: 1, reasoning: 0, source: 'upstream' } as const;
  const at = { isGood: true, totalMs: 12.6, time: 5, worker: 0 };
  const event = probeEvent(deployment('m', backend('b')), { usage, ...at });
  const { chargedTo, tenant, businessLine, cost, status, totalMs, estimated } = event;
  assert.deepEqual(
    { chargedTo, tenant, businessLine, cost, status, totalMs, estimated },
    {
      chargedTo: 'gateway',
      tenant: '~gateway',
      businessLine: 'probe',
      cost: 10,
      status: 'complete',
      totalMs: 13,
      estimated: false,
    },
  );
});
