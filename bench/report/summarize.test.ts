import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sample } from '../measure.ts';
import type { SetupName } from '../setups/setup.ts';
import { rowOf, summarize } from './summarize.ts';

const times = { p50: 1, p95: 2, p99: 3 };

function sample(cpu: number, p50 = 1): Sample {
  return {
    requests: 10,
    failed: 0,
    firstFailure: null,
    throughput: 100,
    latencyMs: { ...times, p50 },
    firstByteMs: times,
    gapMs: times,
    cpuUs: { ext_proc: cpu },
    rssMb: { ext_proc: 50 },
    messages: { sent: 7, received: 5 },
  };
}

const plain: [SetupName, Sample[]][] = [
  ['echo', [sample(100), sample(200), sample(50)]],
  ['tokenlat', [sample(150), sample(600), sample(100)]],
  ['envoy-ai-gateway', [sample(300), sample(600), sample(100)]],
];
const latency: [SetupName, Sample[]][] = [
  ['direct', [sample(1, 0.5), sample(1, 0.5)]],
  ['tokenlat', [sample(1, 2), sample(1, 2)]],
  ['envoy-ai-gateway', [sample(1, 3.5), sample(1, 0.4)]],
];
const samples = new Map([
  ['plain', new Map(plain)],
  ['latency', new Map(latency)],
]);

test('rounds are compared one by one, and the median is taken of the ratios', () => {
  const { ratios, spread } = summarize(samples, 1);
  assert.equal(ratios['echo']?.['ext_proc_cpu_plain'], 2);
  assert.deepEqual(spread['echo.ext_proc_cpu_plain'], { median: 2, min: 1.5, max: 3 });
  assert.equal(ratios['direct']?.['added_p50_ms'], 1.5);
  assert.equal(ratios['workers_2'], undefined, 'what was not measured is not told');
});

test('a goal says whether the median keeps it', () => {
  const { goals } = summarize(samples, 1);
  assert.deepEqual(goals['envoy_ai_gateway.ext_proc_cpu_plain'], { at_most: 0.7, median: 1, met: false });
  assert.deepEqual(goals['envoy_ai_gateway.added_p50'], { at_most: 0.7, median: 0.5, met: true });
});

test('a goal stays open when the rounds lie around it and far apart', () => {
  const rounds: [SetupName, Sample[]][] = [
    ['tokenlat', [sample(30), sample(100), sample(200)]],
    ['envoy-ai-gateway', [sample(100), sample(100), sample(100)]],
  ];
  const { goals } = summarize(new Map([['plain', new Map(rounds)]]), 1);
  assert.equal(goals['envoy_ai_gateway.ext_proc_cpu_plain']?.met, null);
});

test('a round in which a peer added nothing gives no ratio of what was added', () => {
  const { spread } = summarize(samples, 1);
  assert.deepEqual(spread['envoy_ai_gateway.added_p50'], { median: 0.5, min: 0.5, max: 0.5 });
});

test('a window in which a peer failed requests gives no figure', () => {
  const failed = { ...sample(300), failed: 8 };
  const one = new Map([
    ['plain', new Map<SetupName, Sample[]>([...plain, ['envoy-ai-gateway', [failed, sample(600)]]])],
  ]);
  assert.deepEqual(summarize(one, 1).spread['envoy_ai_gateway.ext_proc_cpu_plain'], { median: 1, min: 1, max: 1 });
});

test('a row has the middle of an even number of rounds between the two', () => {
  const row = rowOf('echo', [sample(100), sample(300)]);
  assert.deepEqual(row.cpu_us['ext_proc'], { median: 200, min: 100, max: 300 });
  assert.equal(row.per_core?.max, 10_000, 'requests that a second of CPU serves');
  assert.equal(row.requests, 20);
  assert.deepEqual(row.messages, { sent: 7, received: 5 });
});
