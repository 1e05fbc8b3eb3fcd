import type { Sample } from '../measure.ts';
import type { Role, SetupName } from '../setups/setup.ts';

/** A number of one window. */
export type Measure = (sample: Sample) => number | undefined;

/** What a figure of one round is made of: NaN where something was not measured. */
export interface Round {
  of(workload: string, setup: SetupName, pick: Measure): number;
  /** CPU nanoseconds that one `JSON.parse` takes for a byte of the prompt of 1 MB. */
  readonly jsonParseNs: number;
}

/** A figure that may be claimed. */
export interface Figure {
  /** What it is compared with, a dot, and its name. */
  readonly name: string;
  readonly meaning: string;
  readonly goal?: { readonly at_most: number } | { readonly at_least: number };
  readonly value: (round: Round) => number;
}

export const cpu =
  (role: Role): Measure =>
  (sample) =>
    sample.cpuUs[role];
export const throughput: Measure = (sample) => sample.throughput;
const p50: Measure = (sample) => sample.latencyMs.p50;
const p95: Measure = (sample) => sample.latencyMs.p95;
const p99: Measure = (sample) => sample.latencyMs.p99;
const firstByte: Measure = (sample) => sample.firstByteMs.p50;
const gap99: Measure = (sample) => sample.gapMs.p99;

/** Requests that one second of CPU serves, whoever uses it. */
export const perCore: Measure = (sample) => {
  const us = Object.values(sample.cpuUs).reduce((total, value) => total + value, 0);
  return us > 0 ? 1e6 / us : undefined;
};

const ratio =
  (workload: string, pick: Measure, other: SetupName, ours: SetupName = 'tokenlat') =>
  (round: Round): number =>
    round.of(workload, ours, pick) / round.of(workload, other, pick);

/** What a setup adds to the model server asked directly. */
const added =
  (workload: string, pick: Measure, setup: SetupName) =>
  (round: Round): number =>
    round.of(workload, setup, pick) - round.of(workload, 'direct', pick);

const addedRatio =
  (workload: string, pick: Measure, other: SetupName) =>
  (round: Round): number => {
    const ours = added(workload, pick, 'tokenlat')(round);
    const theirs = added(workload, pick, other)(round);
    // Where a gateway seems to take time away, the machine was busy with something else.
    return ours > 0 && theirs > 0 ? ours / theirs : Number.NaN;
  };

/** CPU nanoseconds a byte by which the longer prompt is dearer than the shorter one, in ext_proc. */
function growth(round: Round, setup: SetupName): number {
  const [short, long] = (['prompt-8k', 'prompt-1m'] as const).map((name) => round.of(name, setup, cpu('ext_proc')));
  return (((long ?? Number.NaN) - (short ?? Number.NaN)) * 1000) / ((1 << 20) - 8192);
}

const AIGW = 'envoy-ai-gateway';

/** In the order of the page. */
export const FIGURES: readonly Figure[] = [
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_plain',
    meaning: 'CPU of the ext_proc server, plain chat, TokenLat with everything on ÷ Envoy AI Gateway',
    goal: { at_most: 0.7 },
    value: ratio('plain', cpu('ext_proc'), AIGW),
  },
  {
    name: 'envoy_ai_gateway.envoy_cpu_plain',
    meaning: 'CPU of Envoy, likewise',
    goal: { at_most: 0.8 },
    value: ratio('plain', cpu('envoy'), AIGW),
  },
  {
    name: 'envoy_ai_gateway.added_p50',
    meaning: 'median latency added at 100 requests a second, likewise',
    goal: { at_most: 0.7 },
    value: addedRatio('latency', p50, AIGW),
  },
  {
    name: 'envoy_ai_gateway.added_p99',
    meaning: '99th percentile added, likewise',
    goal: { at_most: 0.8 },
    value: addedRatio('latency', p99, AIGW),
  },
  {
    name: 'envoy_ai_gateway.added_first_byte_stream100',
    meaning: 'median time to the first byte of a stream of 100 chunks that is added, likewise',
    value: addedRatio('stream100', firstByte, AIGW),
  },
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_stream100',
    meaning: 'CPU of the ext_proc server, stream of 100 chunks, likewise',
    goal: { at_most: 0.5 },
    value: ratio('stream100', cpu('ext_proc'), AIGW),
  },
  {
    name: 'envoy_ai_gateway.envoy_cpu_stream100',
    meaning: 'CPU of Envoy, stream of 100 chunks, likewise',
    value: ratio('stream100', cpu('envoy'), AIGW),
  },
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_plain_minimal',
    meaning: 'CPU of the ext_proc server, plain chat, TokenLat minimal ÷ Envoy AI Gateway',
    value: ratio('plain', cpu('ext_proc'), AIGW, 'tokenlat-minimal'),
  },
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_stream100_minimal',
    meaning: 'the same for a stream of 100 chunks',
    value: ratio('stream100', cpu('ext_proc'), AIGW, 'tokenlat-minimal'),
  },
  {
    name: 'litellm.throughput_per_core',
    meaning: 'requests a second of CPU (gateway, Envoy and Redis together), plain chat, TokenLat ÷ LiteLLM',
    goal: { at_least: 5 },
    value: ratio('plain', perCore, 'litellm'),
  },
  {
    name: 'litellm.added_p50',
    meaning: 'median latency added at 50 requests a second to a model that takes 1.2 s, TokenLat ÷ LiteLLM',
    value: addedRatio('slow-model', p50, 'litellm'),
  },
  {
    name: 'portkey.throughput_per_core',
    meaning: 'requests a second of CPU, likewise, TokenLat ÷ Portkey',
    goal: { at_least: 2 },
    value: ratio('plain', perCore, 'portkey'),
  },
  {
    name: 'portkey.added_p50',
    meaning: 'median latency added at 50 requests a second to a model that takes 1.2 s, TokenLat ÷ Portkey',
    value: addedRatio('slow-model', p50, 'portkey'),
  },
  {
    name: 'workers_2.throughput',
    meaning: 'requests a second at saturation, two workers ÷ one',
    goal: { at_least: 1.8 },
    value: ratio('plain', throughput, 'tokenlat', 'tokenlat-2'),
  },
  {
    name: 'scale.cpu_tenants',
    meaning: 'CPU of TokenLat, requests of 10,000 tenants in turn ÷ of 10',
    goal: { at_most: 1.1 },
    value: ratio('scale', cpu('ext_proc'), 'tokenlat-10-tenants', 'tokenlat-10k-tenants'),
  },
  {
    name: 'scale.cpu_routes',
    meaning: 'CPU of TokenLat, 1,000 routes before the one that is taken ÷ 1',
    goal: { at_most: 1.1 },
    value: ratio('scale', cpu('ext_proc'), 'tokenlat', 'tokenlat-1k-routes'),
  },
  {
    name: 'body.growth_vs_json_parse',
    meaning:
      'CPU a byte by which a prompt of 1 MB is dearer than one of 8 KB in TokenLat minimal, what the bare echo takes for the same bytes taken off, ÷ CPU of one JSON.parse of that byte',
    goal: { at_most: 1.5 },
    value: (round) => (growth(round, 'tokenlat-minimal') - growth(round, 'echo')) / round.jsonParseNs,
  },
  {
    name: 'own.time_share',
    meaning: 'latency that TokenLat adds at 50 requests a second, as a share of the 1.2 s that the model takes',
    goal: { at_most: 0.0066 },
    value: (round) => added('slow-model', p50, 'tokenlat')(round) / 1200,
  },
  {
    name: 'echo.ext_proc_cpu_plain',
    meaning: 'CPU of the ext_proc server, plain chat, TokenLat with everything on ÷ the bare echo',
    value: ratio('plain', cpu('ext_proc'), 'echo'),
  },
  {
    name: 'echo.ext_proc_cpu_stream100',
    meaning: 'the same for a stream of 100 chunks',
    value: ratio('stream100', cpu('ext_proc'), 'echo'),
  },
  {
    name: 'echo.ext_proc_cpu_plain_minimal',
    meaning: 'plain chat, TokenLat minimal ÷ the bare echo',
    value: ratio('plain', cpu('ext_proc'), 'echo', 'tokenlat-minimal'),
  },
  {
    name: 'echo.ext_proc_cpu_stream100_minimal',
    meaning: 'the same for a stream of 100 chunks',
    value: ratio('stream100', cpu('ext_proc'), 'echo', 'tokenlat-minimal'),
  },
  {
    name: 'echo.ext_proc_cpu_prompt_8k',
    meaning: 'prompt of 8 KB, TokenLat with everything on ÷ the bare echo',
    value: ratio('prompt-8k', cpu('ext_proc'), 'echo'),
  },
  {
    name: 'echo.ext_proc_cpu_prompt_1m',
    meaning: 'the same for a prompt of 1 MB',
    value: ratio('prompt-1m', cpu('ext_proc'), 'echo'),
  },
  {
    name: 'grpc_js.ext_proc_cpu_plain',
    meaning: 'CPU of the ext_proc server, plain chat, TokenLat ÷ itself on grpc-js',
    value: ratio('plain', cpu('ext_proc'), 'tokenlat-grpc-js'),
  },
  {
    name: 'grpc_js.ext_proc_cpu_stream100',
    meaning: 'the same for a stream of 100 chunks',
    value: ratio('stream100', cpu('ext_proc'), 'tokenlat-grpc-js'),
  },
  {
    name: 'echo.throughput_plain',
    meaning: 'requests a second at saturation, plain chat, TokenLat ÷ the bare echo',
    value: ratio('plain', throughput, 'echo'),
  },
  {
    name: 'envoy.envoy_cpu_plain',
    meaning: 'CPU of Envoy, plain chat, with TokenLat behind it ÷ alone',
    value: ratio('plain', cpu('envoy'), 'envoy'),
  },
  {
    name: 'envoy.envoy_cpu_stream100',
    meaning: 'the same for a stream of 100 chunks',
    value: ratio('stream100', cpu('envoy'), 'envoy'),
  },
  {
    name: 'limits.cpu_plain',
    meaning: 'CPU of TokenLat with all 40 limits of a tenant ÷ with none',
    value: ratio('limits', cpu('ext_proc'), 'tokenlat-no-limits', 'tokenlat-all-limits'),
  },
  {
    name: 'limits.redis_cpu_plain',
    meaning: 'CPU of Redis, likewise',
    value: ratio('limits', cpu('redis'), 'tokenlat-no-limits', 'tokenlat-all-limits'),
  },
  {
    name: 'limits.throughput_plain',
    meaning: 'requests a second at saturation, likewise',
    value: ratio('limits', throughput, 'tokenlat-no-limits', 'tokenlat-all-limits'),
  },
  {
    name: 'direct.added_p50_ms',
    meaning: 'median latency at 100 requests a second, TokenLat − the model server asked directly (ms)',
    value: added('latency', p50, 'tokenlat'),
  },
  { name: 'direct.added_p95_ms', meaning: '95th percentile, likewise (ms)', value: added('latency', p95, 'tokenlat') },
  { name: 'direct.added_p99_ms', meaning: '99th percentile, likewise (ms)', value: added('latency', p99, 'tokenlat') },
  {
    name: 'direct.echo_added_p50_ms',
    meaning: 'median latency that the bare echo adds (ms)',
    value: added('latency', p50, 'echo'),
  },
  {
    name: 'direct.ttft_added_p50_ms',
    meaning: 'median time to the first byte of a stream of 100 chunks, TokenLat − direct (ms)',
    value: added('stream100', firstByte, 'tokenlat'),
  },
  {
    name: 'direct.gap_p99_added_ms',
    meaning: '99th percentile of the time between two tokens of a stream at 50 tokens a second, TokenLat − direct (ms)',
    value: added('stream100-slow', gap99, 'tokenlat'),
  },
];
