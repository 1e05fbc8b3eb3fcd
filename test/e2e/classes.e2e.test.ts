/** Requests are sorted by what they say, on real Envoy: by their text, by a rule, by the client's word. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { goldenSamples } from '../../src/lib/text-classes/golden-samples.test.ts';
import { writeTextModel } from '../../src/lib/text-classes/model-file.ts';
import { trainTextModel } from '../../src/lib/text-classes/train.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { chatClient, type Send } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-classes-'));
let backend: MockUpstream;
let gateway: TestGateway;
let send: Send;

before(async () => {
  const samples = goldenSamples({ labelled: true });
  const { model, table } = trainTextModel(samples, { bits: 10, penalty: 1 });
  const file = path.join(dir, 'work.json');
  fs.writeFileSync(file, writeTextModel({ model, quality: table, samples: samples.length }));
  backend = await startMockUpstream();
  backend.respondWith(() => wholeAnswer(5));
  const priced = (name: string, input: number) => ({
    name,
    deployments: [{ backend: 'b', price: { prompt_per_mtok: input, completion_per_mtok: input } }],
  });
  gateway = await startGateway({
    config: {
      backends: [{ name: 'b', endpoints: [{ url: `${backend.url}/v1` }] }],
      models: [priced('small', 1), priced('large', 10)],
      classifiers: [
        { name: 'work', header: true, model: file, rules: [{ when: 'request.has_tools', class: 'agent' }] },
      ],
      routes: [
        {
          name: 'sorted',
          candidates: [{ model: 'small' }, { model: 'large' }],
          // Cost is 1 and 0 between the two: what quality there is to win must outweigh it.
          weights: { cost: 0.3, quality: 0.7 },
          classify: 'work',
          weights_for: { agent: { quality: 0, cost: 1 } },
        },
      ],
    },
  });
  send = chatClient(gateway, await gateway.token());
});
after(async () => {
  try {
    await gateway.stop();
  } finally {
    await backend.close();
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

/** The class that the answer tells, and who served. */
async function ask(content: string, more = {}, headers = {}): Promise<{ told: string; trace: unknown }> {
  // As long as answers are: what one model is known to need and the other is not must not decide.
  const body = { model: 'auto', max_tokens: 5, messages: [{ role: 'user', content }], ...more };
  const reply = await send(body, { headers });
  assert.equal(reply.status, 200, reply.text);
  const told = `${reply.headers.get('x-route-class')} ${reply.headers.get('x-tokenlat-model')}`;
  return { told, trace: await gateway.trace(reply.requestId) };
}

const MATH = 'prove that x equals 15 times 7 and the sum converges';

test('the large model serves where the small one is bad at it', async () => {
  const math = await ask(MATH);
  assert.equal(math.told, 'math large');
  const { class: found } = math.trace as { class: { classifier: string; class: string; by: string; margin: number } };
  assert.deepEqual(
    { ...found, margin: found.margin > 0.1 },
    { classifier: 'work', class: 'math', by: 'text', margin: true },
  );
  assert.equal((await ask('recommend a film for a rainy evening with a friend')).told, 'chat small');
});

test('a rule goes before the text, the client’s word before both; the header goes to no backend', async () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  assert.equal((await ask(MATH, { tools })).told, 'agent small');
  assert.equal((await ask(MATH, { tools }, { 'x-request-class': 'chat' })).told, 'chat small');
  assert.equal((await ask(MATH, {}, { 'x-request-class': 'no-such' })).told, 'math large');
  assert.ok(backend.requests.every(({ header }) => header('x-request-class') === undefined));
});

test('classes are counted, with the time it took to find them', async () => {
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
  assert.match(metrics, /tokenlat_classified_total\{[^}]*class="math"[^}]*by="text"[^}]*\} \d/);
  assert.match(metrics, /tokenlat_classification_seconds_count\{[^}]*classifier="work"[^}]*\} \d/);
});
