import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sample } from '../measure.ts';
import type { SetupName } from '../setups/setup.ts';
import { FIGURES } from './figures.ts';
import type { SoakRow } from './results.ts';
import { type Measured, rowOf, summarize } from './summarize.ts';

const times = { p50: 1, p95: 2, p99: 3 };

const measured = (part: Partial<Measured>): Measured => ({
  samples: new Map(),
  soak: [],
  jsonParseNs: 1,
  cores: 64,
  ...part,
});

function sample(cpu: number, p50 = 1): Sample {
  return {
    requests: 10,
    failed: 0,
    firstFailure: null,
    throughput: 100,
    latencyMs: { ...times, p50 },
    firstByteMs: times,
    gapMs: times,
    jitterMs: times,
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
  const { ratios, spread } = summarize(measured({ samples }));
  assert.equal(ratios['echo']?.['ext_proc_cpu_plain'], 2);
  assert.deepEqual(spread['echo.ext_proc_cpu_plain'], { median: 2, min: 1.5, max: 3 });
  assert.equal(ratios['direct']?.['added_p50_ms'], 1.5);
  assert.equal(ratios['workers_2'], undefined, 'what was not measured is not told');
});

test('a goal says whether the median keeps it', () => {
  const { goals } = summarize(measured({ samples }));
  assert.deepEqual(goals['envoy_ai_gateway.ext_proc_cpu_plain'], { at_most: 0.7, median: 1, met: false });
  assert.deepEqual(goals['envoy_ai_gateway.added_p50'], { at_most: 0.7, median: 0.5, met: true });
});

test('a goal stays open when the rounds lie around it and far apart', () => {
  const rounds: [SetupName, Sample[]][] = [
    ['tokenlat', [sample(30), sample(100), sample(200)]],
    ['envoy-ai-gateway', [sample(100), sample(100), sample(100)]],
  ];
  const { goals } = summarize(measured({ samples: new Map([['plain', new Map(rounds)]]) }));
  assert.equal(goals['envoy_ai_gateway.ext_proc_cpu_plain']?.met, null);
});

test('a round in which a peer added nothing gives no ratio of what was added', () => {
  const { spread } = summarize(measured({ samples }));
  assert.deepEqual(spread['envoy_ai_gateway.added_p50'], { median: 0.5, min: 0.5, max: 0.5 });
});

test('a window in which a peer failed requests gives no figure', () => {
  const failed = { ...sample(300), failed: 8 };
  const one = new Map([
    ['plain', new Map<SetupName, Sample[]>([...plain, ['envoy-ai-gateway', [failed, sample(600)]]])],
  ]);
  assert.deepEqual(summarize(measured({ samples: one })).spread['envoy_ai_gateway.ext_proc_cpu_plain'], {
    median: 1,
    min: 1,
    max: 1,
  });
});

test('a row has the middle of an even number of rounds between the two', () => {
  const row = rowOf('echo', [sample(100), sample(300)]);
  assert.deepEqual(row.cpu_us['ext_proc'], { median: 200, min: 100, max: 300 });
  assert.equal(row.per_core?.max, 10_000, 'requests that a second of CPU serves');
  assert.equal(row.requests, 20);
  assert.deepEqual(row.messages, { sent: 7, received: 5 });
});

/** One round of one workload: p50 and the first byte take the same time, and CPU as many microseconds. */
function round(workload: string, values: Readonly<Partial<Record<SetupName, number>>>): Measured['samples'] {
  const setups = Object.entries(values) as [SetupName, number][];
  const of = (value: number): Sample => ({
    ...sample(value, value),
    firstByteMs: { p50: value, p95: value, p99: value },
    jitterMs: { p50: value, p95: value, p99: 2 * value },
    throughput: 1000 / value,
  });
  return new Map([[workload, new Map(setups.map(([setup, value]) => [setup, [of(value)]]))]]);
}

test('the time to the first token is told from streams that do not wait for each other', () => {
  const samples = round('first-token', { direct: 1, echo: 1.5, tokenlat: 2.25, 'envoy-ai-gateway': 3.5, portkey: 2 });
  const { ratios, goals } = summarize(measured({ samples }));
  assert.equal(ratios['direct']?.['ttft_added_p50_ms'], 1.25);
  assert.equal(ratios['direct']?.['echo_ttft_added_p50_ms'], 0.5);
  assert.equal(ratios['envoy_ai_gateway']?.['added_first_byte'], 0.5);
  assert.equal(ratios['portkey']?.['added_first_byte'], 1.25);
  assert.deepEqual(goals['direct.ttft_added_p50_ms'], { at_most: 1, median: 1.25, met: false });
});

test('one connection, jitter and embeddings have figures of their own', () => {
  const one = summarize(measured({ samples: round('plain-1', { direct: 0.25, tokenlat: 1 }) }));
  assert.deepEqual(one.goals['direct.added_p50_one_connection_ms'], { at_most: 1, median: 0.75, met: true });
  const slow = summarize(measured({ samples: round('stream100-slow', { direct: 0.25, tokenlat: 1 }) }));
  assert.deepEqual(slow.ratios['direct'], { jitter_p50_added_ms: 0.75, jitter_p99_added_ms: 1.5 });
  const embeddings = summarize(
    measured({ samples: round('embeddings', { tokenlat: 100, 'envoy-ai-gateway': 200, litellm: 500 }) }),
  );
  assert.equal(embeddings.ratios['envoy_ai_gateway']?.['ext_proc_cpu_embeddings'], 0.5);
  assert.equal(embeddings.ratios['litellm']?.['throughput_per_core_embeddings'], 5);
});

test('a model server that fails is compared with one that does not', () => {
  const failing = new Map([['tokenlat-spare', [{ ...sample(150), throughput: 80, requests: 98, failed: 2 }]]] as const);
  const samples = new Map([...round('scale', { 'tokenlat-spare': 100 }), ['failing', failing] as const]);
  assert.deepEqual(summarize(measured({ samples })).ratios['failing'], { cpu: 1.5, throughput: 8, failed_share: 0.02 });
});

test('a goal that asks for more cores than there are stays open, and a figure that does not is judged', () => {
  const samples = round('plain', { tokenlat: 100, 'tokenlat-2': 125 });
  const two = new Map([
    ...samples,
    ...round('latency', { tokenlat: 200 }),
    ...round('latency-2', { 'tokenlat-2': 250 }),
  ]);
  const { goals } = summarize(measured({ samples: two, cores: 2 }));
  assert.deepEqual(goals['workers_2.throughput'], { at_least: 1.8, median: 0.8, met: null, needs_cores: 6 });
  assert.deepEqual(goals['workers_2.requests_per_cpu'], { at_least: 0.9, median: 0.8, met: false });
  assert.equal(summarize(measured({ samples })).goals['workers_2.throughput']?.met, false);
});

test('memory is judged after ten minutes, and not before', () => {
  const of = (minutes: number): SoakRow => ({
    setup: 'tokenlat',
    minutes,
    rate: 25,
    requests: 1000,
    failed: 0,
    rss_mb: { second_fifth: 200, last_fifth: 230, most: 250 },
  });
  const { ratios, goals } = summarize(measured({ soak: [of(10)] }));
  assert.deepEqual(ratios, { memory: { growth: 1.15 } });
  assert.deepEqual(goals['memory.growth'], { at_most: 1.1, median: 1.15, met: false });
  assert.deepEqual(summarize(measured({ soak: [of(2)] })).ratios, {});
});

test('every figure has a name of its own', () => {
  const names = FIGURES.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[a-z_0-9]+\.[a-z_0-9]+$/);
});
