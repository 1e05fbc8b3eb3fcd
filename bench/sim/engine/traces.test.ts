import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from './random.ts';
import { drawRequests, readTrace, withModels } from './traces.ts';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test('the Azure conversations are all there', () => {
  const requests = readTrace('azure-llm-2023', { faster: 1 });
  assert.equal(requests.length, 19_366);
  assert.deepEqual(
    [sum(requests.map(({ promptTokens }) => promptTokens)), sum(requests.map(({ outputTokens }) => outputTokens))],
    [22_361_870, 4_088_665],
  );
  assert.deepEqual(requests[1], { id: 1, at: 4315, promptTokens: 396, outputTokens: 109, blocks: [], model: null });
  assert.ok(requests.every(({ at }, index) => at >= (requests[index - 1]?.at ?? 0)));
});

test('the Mooncake conversations are all there, with their blocks', () => {
  const requests = readTrace('mooncake-conversation', { faster: 2 });
  assert.equal(requests.length, 12_031);
  assert.equal(sum(requests.map(({ blocks }) => blocks.length)), 288_500);
  assert.equal(new Set(requests.flatMap(({ blocks }) => blocks)).size, 182_790);
  assert.deepEqual(requests[1]?.blocks, [0, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27]);
  assert.equal(requests.at(-1)?.at, 3_536_999 / 2);
});

test('drawn requests come at the rate that was asked for', () => {
  const from = readTrace('azure-llm-2023', { faster: 1 });
  const drawn = drawRequests(from, { rate: 10, seconds: 1000, random: createRandom(1) });
  assert.ok(Math.abs(drawn.length - 10_000) < 300, String(drawn.length));
  assert.ok(drawn.every(({ id, at }, index) => id === index && at < 1_000_000));
});

test('models are asked for by Zipf', () => {
  const from = readTrace('azure-llm-2023', { faster: 1 });
  const models = withModels(from, { models: 3, random: createRandom(1) }).map(({ model }) => model);
  const share = (model: number): number => models.filter((one) => one === model).length / models.length;
  for (const [model, expected] of [6 / 11, 3 / 11, 2 / 11].entries())
    assert.ok(Math.abs(share(model) - expected) < 0.02, `${model}: ${share(model)}`);
});
