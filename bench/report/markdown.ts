import { FIGURES } from './figures.ts';
import { inShort } from './in-short.ts';
import { COMPARE, FLAME, INTRODUCTION, LEFT_OUT, REPEAT, SETUPS } from './page-texts.ts';
import type { Drawn } from './plots.ts';
import type { Results, Row, Spread } from './results.ts';
import { figure, verdict } from './terminal-table.ts';

/** The results as docs/performance.md. */
export function markdown(results: Results, plots: readonly Drawn[]): string {
  const { machine, versions, mode, date, json_parse_ns_per_byte: parse } = results;
  const peers = Object.entries(results.peers).map(([name, what]) => `- **${name}**: ${what}.`);
  return [
    '# Performance\n',
    inShort(results.spread),
    INTRODUCTION,
    '## Figures\n',
    `Medians over the rounds, with the lowest and the highest round. Goals that are not met say so; unclear: the rounds lie on both
sides of the goal, and further apart than the figure itself, or the machine has too few cores for the question.\n`,
    figureTable(results),
    ...plots.map(({ file, title }) => `![${title}](images/${file})\n`),
    FLAME,
    '## What is measured\n',
    SETUPS,
    ...(peers.length === 0 ? [] : [peers.join('\n'), '']),
    LEFT_OUT,
    '## Measurements\n',
    COMPARE,
    'Medians over the rounds. Requests/s: until the last answer, which in an open loop comes after the last request. Per core: requests',
    'that one second of CPU serves, whoever of the setup uses it. Gap: time between two arrivals of one stream. Jitter: by how much a gap',
    'misses the pace of the model server. Messages: from Envoy to ext_proc / back, a request, both levels together; chunks that arrive',
    'together go in one message.\n',
    ...results.workloads.map(
      ({ title, rounds, date: day, rows }) =>
        `### ${title}\n\n${rounds} round${rounds === 1 ? '' : 's'}, ${day}.\n\n${rowTable(rows)}`,
    ),
    ...(results.soak.length === 0 ? [] : [soakTable(results)]),
    '## Where\n',
    `${date}, mode ${mode}. Machine: ${list(machine)}. Versions: ${list(versions)}.`,
    ...(parse === null ? [] : [`One JSON.parse: ${parse} ns a byte.`]),
    sharers(Number(machine['cores'])),
    REPEAT,
  ].join('\n');
}

/** Who takes part in a window, and what that means for figures of more than one core. */
function sharers(cores: number): string {
  const needed = Math.max(...FIGURES.map((figure) => figure.cores ?? 0));
  const few = `With fewer than ${needed} cores these take each other's time, and a second worker mostly takes that of Envoy and of the model server:
what \`workers_2.throughput\` is here tells of this machine alone, and its goal stays unclear. \`workers_2.requests_per_cpu\`, which each
worker takes at the same load, can be judged: where two workers have a core each, they serve twice that many requests.`;
  return `These ${cores} cores are shared, in every window, by the load generator (one thread), the model server (one), Envoy (one; two for
\`tokenlat-2\`), the gateway (a process and a worker; two workers for \`tokenlat-2\`), Redis (one) and the setups that wait for their turn.
${cores < needed ? `${few}\n` : ''}`;
}

function list(of: Readonly<Record<string, string | number>>): string {
  return Object.entries(of)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${value}`)
    .join(', ');
}

function figureTable({ spread, goals }: Results): string {
  const known = FIGURES.flatMap(({ name, meaning }) => {
    const found = spread[name];
    return found === undefined
      ? []
      : [`| \`${name}\` | ${meaning} | **${figure(found.median)}** | ${range(found)} | ${verdict(goals[name])} |`];
  });
  return ['| Figure | Meaning | Median | Rounds | Goal |', '|---|---|--:|--:|---|', ...known, ''].join('\n');
}

function rowTable(rows: readonly Row[]): string {
  const isStreamed = rows.some(({ gap_ms: gap, messages }) => gap.p50.median > 0 && (messages?.sent ?? 0) > 20);
  const head = ['Setup', 'Requests/s', 'ext_proc µs', 'Gateway µs', 'Envoy µs', 'Redis µs', 'Per core'];
  const times = [
    'p50 ms',
    'p95 ms',
    'p99 ms',
    'First byte p50 ms',
    'p99 ms',
    ...(isStreamed ? ['Gap p50 ms', 'p99 ms', 'Jitter p50 ms', 'p99 ms'] : []),
  ];
  const columns = [...head, ...times, 'Messages', 'RSS MB', 'Failed'];
  return [
    `| ${columns.join(' | ')} |`,
    `|---|${columns
      .slice(1)
      .map(() => '--:|')
      .join('')}`,
    ...rows.map((row) => `| ${cellsOf(row, isStreamed).join(' | ')} |`),
    '',
  ].join('\n');
}

function cellsOf(row: Row, isStreamed: boolean): readonly string[] {
  const cpu = (role: string): string => row.cpu_us[role]?.median.toFixed(0) ?? '';
  const { messages, latency_ms: latency, first_byte_ms: firstByte, gap_ms: gap, jitter_ms: jitter } = row;
  const share = row.failed / Math.max(1, row.failed + row.requests);
  return [
    row.setup,
    row.throughput.median.toFixed(0),
    cpu('ext_proc'),
    cpu('gateway'),
    cpu('envoy'),
    cpu('redis'),
    row.per_core?.median.toFixed(0) ?? '',
    latency.p50.median.toFixed(2),
    latency.p95.median.toFixed(2),
    latency.p99.median.toFixed(2),
    firstByte.p50.median.toFixed(2),
    firstByte.p99.median.toFixed(2),
    ...(isStreamed ? [gap.p50, gap.p99, jitter?.p50, jitter?.p99].map((of) => of?.median.toFixed(2) ?? '') : []),
    messages === null ? '' : `${messages.sent.toFixed(1)} / ${messages.received.toFixed(1)}`,
    (row.rss_mb['ext_proc'] ?? row.rss_mb['gateway'])?.toFixed(0) ?? '',
    share === 0 ? '' : `${(share * 100).toFixed(1)} %`,
  ];
}

function soakTable({ soak }: Results): string {
  const rows = soak.map(({ setup, rss_mb: { second_fifth: warm, last_fifth: last, most }, failed }) => {
    const growth = warm === 0 ? '' : (last / warm).toFixed(2);
    return `| ${setup} | ${warm} | ${last} | ${growth} | ${most} | ${failed} |`;
  });
  const { minutes = 0, rate = 0 } = soak[0] ?? {};
  return [
    `### Memory under ${rate} requests a second for ${minutes} minutes\n`,
    'All at once. Resident memory of the gateway alone, without Envoy: medians of the second and of the last fifth of the time.\n',
    '| Setup | Second fifth, MB | Last fifth, MB | Last ÷ second | Most, MB | Failed |',
    '|---|--:|--:|--:|--:|--:|',
    ...rows,
    '',
  ].join('\n');
}

function range({ min, max }: Spread): string {
  return `${figure(min)} to ${figure(max)}`;
}
