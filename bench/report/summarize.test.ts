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
    cpuUs: { ext_proc: cpu },
    rssMb: { ext_proc: 50 },
    messages: { sent: 7, received: 5 },
  };
}

test('rounds are compared one by one, and the median is taken of the ratios', () => {
  const plain: [SetupName, Sample[]][] = [
    ['echo', [sample(100), sample(200), sample(50)]],
    ['tokenlat', [sample(150), sample(600), sample(100)]],
  ];
  const latency: [SetupName, Sample[]][] = [
    ['direct', [sample(1, 0.5)]],
    ['tokenlat', [sample(1, 2)]],
  ];
  const samples = new Map([
    ['plain', new Map(plain)],
    ['latency', new Map(latency)],
  ]);
  const { ratios, spread } = summarize(samples);
  assert.equal(ratios['ext_proc_cpu_plain_vs_echo'], 2);
  assert.deepEqual(spread['ext_proc_cpu_plain_vs_echo'], { median: 2, min: 1.5, max: 3 });
  assert.equal(ratios['added_p50_ms'], 1.5);
  assert.equal(ratios['workers_2_throughput'], undefined, 'what was not measured is not told');
});

test('a row has the middle of an even number of rounds between the two', () => {
  const row = rowOf('echo', [sample(100), sample(300)]);
  assert.deepEqual(row.cpu_us['ext_proc'], { median: 200, min: 100, max: 300 });
  assert.equal(row.requests, 20);
  assert.deepEqual(row.messages, { sent: 7, received: 5 });
});
