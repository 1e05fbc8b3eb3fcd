import { bars, type Bar } from './bars.ts';
import type { Results, Row } from './results.ts';

/** A plot of the page. */
export interface Drawn {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

const CPU_PARTS = ['ext_proc', 'gateway', 'envoy', 'redis'] as const;

interface Wanted {
  readonly workload: string;
  readonly file: string;
  readonly title: string;
  readonly unit: string;
  readonly bar: (row: Row) => Bar | null;
}

const cpuBar = (row: Row): Bar | null => {
  const parts = CPU_PARTS.flatMap((role) => {
    const value = row.cpu_us[role]?.median;
    return value === undefined ? [] : [{ name: role, value }];
  });
  return parts.length === 0 ? null : { name: row.setup, parts };
};

const latencyBar = (row: Row): Bar => ({
  name: row.setup,
  parts: [
    { name: 'p50', value: row.latency_ms.p50.median },
    { name: 'to p95', value: Math.max(0, row.latency_ms.p95.median - row.latency_ms.p50.median) },
  ],
});

const WANTED: readonly Wanted[] = [
  { workload: 'plain', file: 'performance-cpu-plain.svg', title: 'CPU a request, plain chat', unit: 'µs', bar: cpuBar },
  {
    workload: 'stream100',
    file: 'performance-cpu-stream100.svg',
    title: 'CPU a stream of 100 chunks',
    unit: 'µs',
    bar: cpuBar,
  },
  {
    workload: 'latency',
    file: 'performance-latency.svg',
    title: 'Latency at 100 requests a second: median, and up to the 95th percentile',
    unit: 'ms',
    bar: latencyBar,
  },
  {
    workload: 'plain',
    file: 'performance-per-core.svg',
    title: 'Requests that one second of CPU serves, plain chat',
    unit: '',
    bar: (row) =>
      row.per_core === null ? null : { name: row.setup, parts: [{ name: '', value: row.per_core.median }] },
  },
];

/** The plots of what was measured. */
export function plots({ workloads }: Results): readonly Drawn[] {
  return WANTED.flatMap(({ workload, file, title, unit, bar }) => {
    const rows = workloads.find(({ name }) => name === workload)?.rows ?? [];
    const all = rows.map(bar).filter((one) => one !== null);
    return all.length === 0 ? [] : [{ file, title, svg: bars({ title, unit, bars: all }) }];
  });
}
