import type { Goal, Results, Row } from './results.ts';

const COLUMNS = [
  'setup',
  'req/s',
  'ext_proc µs',
  'gateway µs',
  'Envoy µs',
  'Redis µs',
  'per core',
  'p50 ms',
  'p99 ms',
  'first byte ms',
  'gap p99 ms',
  'jitter p50/p99 ms',
  'msgs',
  'RSS MB',
];

/** The results for a terminal. */
export function terminalTable(results: Results): string {
  const lines: string[] = [];
  for (const { name, title, rows } of results.workloads) {
    lines.push('', `${name}: ${title}`, ...table([COLUMNS, ...rows.map(cellsOf)]));
  }
  if (results.soak.length > 0) {
    const rows = results.soak.map(({ setup, failed, rss_mb: { second_fifth: warm, last_fifth: last, most } }) =>
      [setup, warm, last, most, failed].map(String),
    );
    lines.push('', 'soak', ...table([['setup', 'RSS MB, second fifth', 'last fifth', 'most', 'failed'], ...rows]));
  }
  lines.push('', 'ratios (median, lowest to highest round, goal)');
  for (const [name, { median, min, max }] of Object.entries(results.spread)) {
    const said = verdict(results.goals[name]);
    lines.push(
      `${name.padEnd(48)} ${figure(median).padStart(8)}   ${figure(min)} to ${figure(max)}   ${said}`.trimEnd(),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** What a goal is, and whether it is met; nothing where there is none. */
export function verdict(goal: Goal | undefined): string {
  if (goal === undefined) return '';
  const limit = goal.at_most === undefined ? `≥ ${goal.at_least}` : `≤ ${goal.at_most}`;
  const few = goal.needs_cores === undefined ? '' : ` here, asks for ${goal.needs_cores} cores`;
  return `${limit}: ${goal.met === null ? `unclear${few}` : goal.met ? 'met' : '**not met**'}`;
}

/** Two digits, or as many as a small share needs. */
export function figure(value: number): string {
  return Math.abs(value) < 0.1 ? value.toFixed(4) : value.toFixed(2);
}

function table(cells: readonly (readonly string[])[]): readonly string[] {
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length))) ?? [];
  return cells.map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
  );
}

/** One row as text, in the order of the columns. */
function cellsOf(row: Row): readonly string[] {
  const cpu = (role: string): string => row.cpu_us[role]?.median.toFixed(0) ?? '-';
  const { messages } = row;
  return [
    row.failed === 0 ? row.setup : `${row.setup} (${row.failed} failed: ${row.first_failure ?? ''})`,
    row.throughput.median.toFixed(0),
    cpu('ext_proc'),
    cpu('gateway'),
    cpu('envoy'),
    cpu('redis'),
    row.per_core?.median.toFixed(0) ?? '-',
    row.latency_ms.p50.median.toFixed(2),
    row.latency_ms.p99.median.toFixed(2),
    row.first_byte_ms.p50.median.toFixed(2),
    row.gap_ms.p99.median.toFixed(2),
    row.jitter_ms === null ? '-' : `${row.jitter_ms.p50.median.toFixed(2)}/${row.jitter_ms.p99.median.toFixed(2)}`,
    messages === null ? '-' : `${messages.sent.toFixed(1)}/${messages.received.toFixed(1)}`,
    Object.values(row.rss_mb)
      .map((value) => value.toFixed(0))
      .join('+'),
  ];
}
