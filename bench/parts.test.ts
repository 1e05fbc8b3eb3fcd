import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimate } from './estimate.ts';
import { listText, partsOf } from './parts.ts';
import { fullPlan } from './plans.ts';

const plan = fullPlan(['envoy-ai-gateway', 'litellm', 'portkey']);

test('the parts have every workload once, in order, and none takes longer than it may', () => {
  const parts = partsOf(plan, 720);
  assert.deepEqual(
    parts.flatMap(({ names }) => names),
    plan.workloads.map(({ name }) => name),
  );
  assert.ok(parts.length > 1);
  for (const { names, seconds } of parts) assert.ok(seconds <= 720, `${names.join()} takes ${seconds} s`);
});

test('workloads that are compared with each other are in one part', () => {
  const parts = partsOf(plan, 720);
  for (const [one, other] of [
    ['latency', 'latency-2'],
    ['scale', 'failing'],
    ['prompt-8k', 'prompt-1m'],
  ] as const) {
    assert.ok(
      parts.some(({ names }) => names.includes(one) && names.includes(other)),
      `${one} and ${other}`,
    );
  }
});

test('a workload that is too long is a part of its own', () => {
  const parts = partsOf(plan, 1);
  assert.ok(parts.some(({ names }) => names.length === 1));
  assert.equal(parts.flatMap(({ names }) => names).length, plan.workloads.length);
});

test('the list tells a command for each part', () => {
  const text = listText(plan, { words: '--peers --merge', maxSeconds: 720, soakMinutes: 10 });
  assert.equal(text.match(/npm run bench -- --peers --merge --only /g)?.length, partsOf(plan, 720).length + 1);
  assert.ok(estimate(plan) < 3600, 'a whole run takes less than an hour');
});
