import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merged } from './merge.ts';
import type { Results } from './results.ts';

const spread = { median: 1, min: 1, max: 1 };

function results(workload: string, figure: string, median: number): Results {
  return {
    ratios: { echo: { [figure]: median } },
    goals: { [`echo.${figure}`]: { at_most: 2, median, met: median <= 2 } },
    spread: { [`echo.${figure}`]: { ...spread, median } },
    json_parse_ns_per_byte: 1,
    mode: 'full',
    rounds: 3,
    date: '2026-01-01',
    machine: {},
    versions: { [figure]: '1' },
    peers: {},
    workloads: [{ name: workload, title: `${workload} ${median}`, rows: [] }],
    soak: [],
  };
}

test('what is not measured again stays', () => {
  const both = merged(results('plain', 'cpu', 1), results('stream100', 'time', 3));
  assert.deepEqual(both.ratios, { echo: { cpu: 1, time: 3 } });
  assert.deepEqual(Object.keys(both.goals), ['echo.cpu', 'echo.time']);
  assert.deepEqual(
    both.workloads.map(({ name }) => name),
    ['plain', 'stream100'],
  );
});

test('what is measured again is replaced where it stood', () => {
  const first = merged(results('plain', 'cpu', 1), results('stream100', 'time', 3));
  const again = merged(first, results('plain', 'cpu', 5));
  assert.deepEqual(
    again.workloads.map(({ title }) => title),
    ['plain 5', 'stream100 3'],
  );
  assert.equal(again.ratios['echo']?.['cpu'], 5);
  assert.equal(again.goals['echo.cpu']?.met, false);
});
