import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-limits-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

function load({ backend = '', deployment = '', more = '' }) {
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(
    file,
    `version: 1
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000"}, {url: "http://10.0.0.2:8000"}, {url: "http://10.0.0.3:8000"}, {url: "http://10.0.0.4:8000"}]${backend}}]
models: [{name: m, deployments: [{backend: b${deployment}}]}]
${more}`,
  );
  return loadConfig({ path: file, env: {}, generation: 1, dialects: ['openai'], checkMatch: () => null });
}

function made(text: Parameters<typeof load>[0]) {
  const result = load(text);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  const deployment = result.snapshot.models.get('m')?.deployments[0];
  assert.ok(deployment !== undefined);
  return { ...result, deployment };
}

function problems(text: Parameters<typeof load>[0]): string[] {
  const result = load(text);
  return result.ok ? [] : result.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

test('nothing is bounded where nothing is said', () => {
  const { deployment, snapshot } = made({});
  assert.deepEqual([deployment.concurrency, deployment.rates], [null, null]);
  assert.deepEqual(deployment.queue, { size: 0, bytes: 64 * 1024 * 1024, timeoutMs: 2000, text: null });
  assert.deepEqual(snapshot.priorities, { batchTiers: new Set(), batchShare: 0.1 });
});

test('by instance: times the endpoints, times a safety that can be set near or far', () => {
  const of = (text: Parameters<typeof load>[0]) => made(text).deployment.concurrency;
  assert.deepEqual(of({ backend: ', limits: {per_instance: 32}' }), {
    limit: 89,
    perInstance: { slots: 32, safety: 0.7 },
  });
  assert.equal(of({ backend: ', limits: {per_instance: 32, safety: 1}' })?.limit, 128);
  assert.equal(of({ backend: ', limits: {per_instance: 32}', deployment: ', limits: {safety: 0.5}' })?.limit, 64);
  assert.deepEqual(of({ backend: ', limits: {per_instance: 32}', deployment: ', limits: {concurrency: 5}' }), {
    limit: 5,
    perInstance: null,
  });
});

test('rates, bursts and queues: the nearest word wins', () => {
  const { deployment } = made({
    backend: ', limits: {tokens_per_second: 1000, requests_per_second: 2.5, queue: {size: 9, bytes: 1MiB}}',
    deployment: ', limits: {tokens_per_second: 10, burst: 2s, queue: {size: 3}}',
  });
  assert.deepEqual(deployment.rates, { tokensPerSecond: 10, requestsPerSecond: 2.5, burstMs: 2000 });
  assert.deepEqual(deployment.queue, { size: 3, bytes: 1024 * 1024, timeoutMs: 2000, text: null });
});

test('priorities, and a route whose requests are a batch', () => {
  const more =
    'priorities: {batch_tiers: [nightly], batch_share: 0.2}\nroutes: [{name: r, priority: batch}, {name: s}]\n';
  const { snapshot } = made({ more });
  assert.deepEqual(snapshot.priorities, { batchTiers: new Set(['nightly']), batchShare: 0.2 });
  assert.deepEqual(
    snapshot.routes.slice(0, 2).map(({ priority }) => priority),
    ['batch', null],
  );
});

test('what is said twice, or out of range, is told with its place', () => {
  assert.deepEqual(problems({ backend: ', limits: {concurrency: 3, per_instance: 3}' }), [
    '3:198 stands in place of concurrency: keep one',
  ]);
  assert.deepEqual(problems({ deployment: ', profile: {max_concurrency: 1}, limits: {per_instance: 3}' }).length, 1);
  assert.match(problems({ backend: ', limits: {safety: 1.5}' }).join(), /safety|<=1|at most/);
  assert.match(
    problems({ backend: ', limits: {queue: {size: 1, timeout: 5s}}' }).join(),
    /5s is too long.*message_timeout \(5s\): shorten it, or raise server\.message_timeout$/,
  );
  assert.match(problems({ more: 'priorities: {batch_share: 0}\n' }).join(), /5:/);
});

test('a queue that can never fill is warned of, once, where it is written', () => {
  const told = (text: Parameters<typeof load>[0]) =>
    made(text)
      .warnings.filter(({ message }) => message.includes('has no effect without a limit'))
      .map(({ path: at }) => at);
  const queue = ', limits: {queue: {size: 4}}';
  assert.deepEqual(told({ backend: queue }), ['backends[0].limits.queue']);
  assert.deepEqual(told({ deployment: queue }), ['models[0].deployments[0].limits.queue']);
  assert.deepEqual(told({ backend: queue, deployment: ', limits: {concurrency: 2}' }), []);
  assert.deepEqual(told({ backend: ', limits: {requests_per_second: 2}', deployment: queue }), []);
  assert.deepEqual(told({ backend: queue, deployment: ', profile: {max_concurrency: 2}' }), []);
  assert.deepEqual(told({ backend: ', limits: {queue: {size: 0}}' }), []);
});
