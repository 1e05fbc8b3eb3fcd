import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merged } from './merge.ts';
import type { Results, Row } from './results.ts';

const spread = { median: 1, min: 1, max: 1 };
const times = { p50: spread, p95: spread, p99: spread };
const NAMES = ['plain', 'stream100', 'latency'];
const CPU = 'echo.ext_proc_cpu_plain';
const TIME = 'workers_2.throughput';

const row = (setup: string, requests = 1): Row => ({
  setup,
  requests,
  failed: 0,
  first_failure: null,
  throughput: spread,
  per_core: null,
  latency_ms: times,
  first_byte_ms: times,
  gap_ms: times,
  jitter_ms: null,
  cpu_us: {},
  rss_mb: {},
  messages: null,
});

function results(workload: string, figure: string, median: number, rows: readonly Row[] = []): Results {
  return {
    ratios: {},
    goals: { [figure]: { at_most: 2, median, met: median <= 2 } },
    spread: { [figure]: { ...spread, median } },
    json_parse_ns_per_byte: 1,
    mode: 'full',
    date: '2026-01-01',
    machine: {},
    versions: { [figure]: '1' },
    peers: {},
    workloads: [{ name: workload, title: `${workload} ${median}`, rounds: 3, date: '2026-01-01', rows }],
    soak: [],
  };
}

test('what is not measured again stays, and all is in the order of the page', () => {
  const both = merged(results('stream100', CPU, 3), results('plain', TIME, 1), NAMES);
  assert.deepEqual(both.ratios, { workers_2: { throughput: 1 }, echo: { ext_proc_cpu_plain: 3 } });
  assert.deepEqual(Object.keys(both.goals), [TIME, CPU]);
  assert.deepEqual(
    both.workloads.map(({ name }) => name),
    ['plain', 'stream100'],
  );
});

test('what is measured again is replaced where it stood', () => {
  const first = merged(results('plain', CPU, 1), results('stream100', TIME, 3), NAMES);
  const again = merged(first, results('plain', CPU, 5), NAMES);
  assert.deepEqual(
    again.workloads.map(({ title }) => title),
    ['plain 5', 'stream100 3'],
  );
  assert.equal(again.ratios['echo']?.['ext_proc_cpu_plain'], 5);
  assert.equal(again.goals[CPU]?.met, false);
});

test('setups that are not measured again keep their rows', () => {
  const before = results('plain', CPU, 1, [row('echo', 10), row('tokenlat', 10)]);
  const again = merged(before, results('plain', CPU, 1, [row('tokenlat', 20), row('portkey', 20)]), NAMES);
  assert.deepEqual(
    again.workloads[0]?.rows.map(({ setup, requests }) => [setup, requests]),
    [
      ['echo', 10],
      ['tokenlat', 20],
      ['portkey', 20],
    ],
  );
});

test('figures and workloads that there are no longer go', () => {
  const both = merged(results('of-old', 'echo.of_old', 1), results('plain', CPU, 1), NAMES);
  assert.deepEqual(Object.keys(both.spread), [CPU]);
  assert.deepEqual(Object.keys(both.goals), [CPU]);
  assert.deepEqual(
    both.workloads.map(({ name }) => name),
    ['plain'],
  );
});
