import type { Results, Row } from './results.ts';

const COLUMNS = [
  'setup',
  'req/s',
  'ext_proc µs',
  'Envoy µs',
  'Redis µs',
  'p50 ms',
  'p99 ms',
  'first byte ms',
  'msgs',
  'RSS MB',
];

/** The results for a terminal. */
export function terminalTable(results: Results): string {
  const lines: string[] = [];
  for (const { title, rows } of results.workloads) {
    const cells = [COLUMNS, ...rows.map(cellsOf)];
    const widths = COLUMNS.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
    lines.push('', title);
    for (const row of cells) {
      lines.push(
        row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
      );
    }
  }
  lines.push('', 'ratios (median, lowest to highest round)');
  for (const [name, { median, min, max }] of Object.entries(results.spread)) {
    lines.push(`${name.padEnd(40)} ${median.toFixed(2).padStart(8)}   ${min.toFixed(2)} to ${max.toFixed(2)}`);
  }
  return `${lines.join('\n')}\n`;
}

/** One row as text, in the order of the columns. */
function cellsOf(row: Row): readonly string[] {
  const cpu = (role: string): string => row.cpu_us[role]?.median.toFixed(0) ?? '-';
  const { messages } = row;
  return [
    row.failed === 0 ? row.setup : `${row.setup} (${row.failed} failed: ${row.first_failure ?? ''})`,
    row.throughput.median.toFixed(0),
    cpu('ext_proc'),
    cpu('envoy'),
    cpu('redis'),
    row.latency_ms.p50.median.toFixed(2),
    row.latency_ms.p99.median.toFixed(2),
    row.first_byte_ms.p50.median.toFixed(2),
    messages === null ? '-' : `${messages.sent.toFixed(1)}/${messages.received.toFixed(1)}`,
    Object.values(row.rss_mb)
      .map((value) => value.toFixed(0))
      .join('+'),
  ];
}
