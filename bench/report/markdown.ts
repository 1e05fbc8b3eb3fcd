import type { Results, Row, Spread } from './results.ts';

/** What each figure at the top of the JSON means, in the order of the page. */
const MEANINGS: readonly (readonly [string, string])[] = [
  ['ext_proc_cpu_plain_vs_echo', 'CPU of TokenLat with everything on, plain chat, against the bare echo'],
  ['ext_proc_cpu_stream100_vs_echo', 'the same for a stream of 100 chunks'],
  ['ext_proc_cpu_plain_vs_grpc_js', 'CPU of TokenLat with everything on, plain chat, against itself on grpc-js'],
  ['ext_proc_cpu_stream100_vs_grpc_js', 'the same for a stream of 100 chunks'],
  [
    'ext_proc_cpu_plain_minimal_vs_echo',
    'CPU of TokenLat without limits, filter and Redis, plain chat, against the bare echo',
  ],
  ['ext_proc_cpu_stream100_minimal_vs_echo', 'the same for a stream of 100 chunks'],
  ['ext_proc_cpu_prompt_8k_vs_echo', 'CPU of TokenLat with everything on, prompt of 8 KB, against the bare echo'],
  ['ext_proc_cpu_prompt_1m_vs_echo', 'the same for a prompt of 1 MB'],
  ['envoy_cpu_plain_vs_envoy_alone', 'CPU of Envoy with TokenLat behind it, plain chat, against Envoy alone'],
  ['envoy_cpu_stream100_vs_envoy_alone', 'the same for a stream of 100 chunks'],
  ['throughput_plain_vs_echo', 'requests a second at saturation, one worker, against the bare echo'],
  ['limits_cpu_plain', 'CPU of TokenLat with all 40 limits of a tenant, plain chat, against none'],
  ['limits_redis_cpu_plain', 'CPU of Redis, likewise'],
  ['limits_throughput_plain', 'requests a second at saturation, likewise'],
  ['limits_p50_plain', 'median latency at saturation, likewise'],
  ['workers_2_throughput', 'requests a second at saturation, two workers against one'],
  ['added_p50_ms', 'median latency at 100 requests a second, minus that of the model server asked directly (ms)'],
  ['added_p95_ms', '95th percentile, likewise (ms)'],
  ['added_p99_ms', '99th percentile, likewise (ms)'],
  ['echo_added_p50_ms', 'median latency that the bare echo adds (ms)'],
  ['echo_added_p99_ms', '99th percentile that the bare echo adds (ms)'],
  [
    'ttft_added_p50_ms',
    'median time to the first byte of a stream, minus that of the model server asked directly (ms)',
  ],
];

const INTRODUCTION = `# Performance

Made by \`npm run bench\` from \`performance.json\`; changes made here are lost.

What is measured stands side by side on one machine, on the same Envoy and in front of the same model server, which sends
canned answers:

- **direct**: the load generator asks the model server.
- **envoy**: Envoy alone, with the listener that TokenLat renders (hardening, timeouts, access log) and no ext_proc.
- **echo**: the Envoy configuration of TokenLat, and behind it a bare grpc-js server that answers every message with the
  bytes that TokenLat was recorded to answer, without decoding or deciding anything. It is the floor under any ext_proc
  server on grpc-js.
- **tokenlat**: one worker with everything on: JWT, request and token limits and a daily quota in Redis, a CEL route, word
  filter, cost, ledger, trace, and a log line a request.
- **tokenlat-grpc-js**: the same with \`server.grpc: grpc-js\` in place of the gRPC server of our own.
- **tokenlat-2**: the same with two workers, and Envoy with two threads.
- **tokenlat-no-limits**, **tokenlat-all-limits**: as tokenlat, with no limit, and with each of the ten kinds of limits on the
  tenant, its business line, the subject and the model. Both ask Redis once to admit and once to settle.
- **tokenlat-minimal**: JWT and routing alone, stores in memory, no log line a request.

CPU is user and system time from \`/proc/<pid>/stat\` over the window, divided by the requests answered in it. Throughput comes
from a closed loop (each connection sends again when it has its answer), added latency from an open loop (requests go out at a
fixed rate, and time counts from when a request was due). Every setup is warmed up first; rounds alternate in direction, so
that a machine that grows slower or faster hits all alike.

Only the ratios and differences are claims, and only as far as their rounds agree: one whose rounds lie further apart than the
figure itself says nothing on this machine. The absolute figures depend on the machine, which may be shared.
`;

/** The results as docs/performance.md. */
export function markdown(results: Results): string {
  const { machine, versions, rounds, mode, date } = results;
  return [
    INTRODUCTION,
    '## Ratios\n',
    `Median over ${rounds} rounds, with the lowest and the highest round.\n`,
    ratioTable(results),
    '## Measurements\n',
    'Medians over the rounds. Messages: from Envoy to ext_proc / back, a request, both levels together.\n',
    ...results.workloads.map(({ title, rows }) => `### ${title}\n\n${rowTable(rows)}`),
    '## Where\n',
    `${date}, mode ${mode}. Machine: ${list(machine)}. Versions: ${list(versions)}. Load generator, model server, Envoy, TokenLat`,
    'and Redis share these cores: with two cores a second worker cannot double the throughput.\n',
    '## How to repeat\n',
    '```sh\nnpm run bench              # everything, about 15 minutes\nnpm run bench -- --quick   # less than 3 minutes; --no-write leaves the files in docs/ as they are',
    'npm run bench -- --no-write --only plain,stream100 --setups echo,tokenlat',
    'npm run bench -- --quick --only plain --setups tokenlat --profile profile   # a V8 CPU profile\n```\n',
  ].join('\n');
}

function list(of: Readonly<Record<string, string | number>>): string {
  return Object.entries(of)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${value}`)
    .join(', ');
}

function ratioTable({ spread }: Results): string {
  const known = MEANINGS.flatMap(([name, meaning]) => {
    const found = spread[name];
    return found === undefined
      ? []
      : [`| \`${name}\` | ${meaning} | **${found.median.toFixed(2)}** | ${range(found)} |`];
  });
  return ['| Figure | Meaning | Median | Rounds |', '|---|---|--:|--:|', ...known, ''].join('\n');
}

function rowTable(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const cpu = (role: string): string => row.cpu_us[role]?.median.toFixed(0) ?? '';
    const { messages, latency_ms: latency, first_byte_ms: firstByte } = row;
    return `| ${[
      row.setup,
      row.throughput.median.toFixed(0),
      cpu('ext_proc'),
      cpu('envoy'),
      cpu('redis'),
      latency.p50.median.toFixed(2),
      latency.p95.median.toFixed(2),
      latency.p99.median.toFixed(2),
      firstByte.p50.median.toFixed(2),
      messages === null ? '' : `${messages.sent.toFixed(1)} / ${messages.received.toFixed(1)}`,
      row.rss_mb['ext_proc']?.toFixed(0) ?? '',
    ].join(' | ')} |`;
  });
  return [
    '| Setup | Requests/s | ext_proc µs | Envoy µs | Redis µs | p50 ms | p95 ms | p99 ms | First byte p50 ms | Messages | RSS MB |',
    '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...lines,
    '',
  ].join('\n');
}

function range({ min, max }: Spread): string {
  return `${min.toFixed(2)} to ${max.toFixed(2)}`;
}
