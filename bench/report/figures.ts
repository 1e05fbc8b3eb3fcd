import { type Figure, several } from './figure.ts';
import {
  added,
  between,
  bodyGrowth,
  cpu,
  failedShare,
  firstByte,
  jitter50,
  jitter99,
  memoryGrowth,
  type Measure,
  p50,
  p95,
  p99,
  plainly,
  ratio,
  throughput,
} from './measures.ts';
import { OTHER_PEER_FIGURES, PEER_FIGURES } from './peer-figures.ts';

const EXT_PROC = cpu('ext_proc');

/** Load generator, model server, Envoy with two threads, and two workers, without one waiting for another. */
const CORES_OF_TWO_WORKERS = 6;

const WORKERS: readonly Figure[] = [
  {
    name: 'workers_2.throughput',
    meaning: 'requests a second at saturation, two workers ÷ one',
    goal: { at_least: 1.8 },
    cores: CORES_OF_TWO_WORKERS,
    value: ratio('plain', throughput, 'tokenlat', 'tokenlat-2'),
  },
  {
    name: 'workers_2.requests_per_cpu',
    meaning:
      'requests that one second of ext_proc CPU serves, 200 a second on two workers ÷ 100 a second on one: at 1 a request is no ' +
      'dearer with a second worker, and two with a core each serve twice as many',
    goal: { at_least: 0.9 },
    value: between('latency', 'latency-2', EXT_PROC, 'tokenlat', 'tokenlat-2'),
  },
];

/** How it grows with what there is, and with time. */
const GROWTH: readonly Figure[] = [
  {
    name: 'scale.cpu_tenants',
    meaning: 'CPU of TokenLat, requests of 10,000 tenants in turn ÷ of 10',
    goal: { at_most: 1.1 },
    value: ratio('scale', EXT_PROC, 'tokenlat-10-tenants', 'tokenlat-10k-tenants'),
  },
  {
    name: 'scale.cpu_routes',
    meaning: 'CPU of TokenLat, 1,000 routes before the one that is taken ÷ 1',
    goal: { at_most: 1.1 },
    value: ratio('scale', EXT_PROC, 'tokenlat', 'tokenlat-1k-routes'),
  },
  {
    name: 'body.growth_vs_json_parse',
    meaning:
      'CPU a byte by which a prompt of 1 MB is dearer than one of 8 KB in TokenLat minimal, what the bare echo takes for the same ' +
      'bytes taken off, ÷ CPU of one JSON.parse of that byte',
    goal: { at_most: 1.5 },
    value: bodyGrowth,
  },
  {
    name: 'memory.growth',
    meaning:
      'resident memory of TokenLat under a steady load of ten minutes, median of the last fifth of the time ÷ of the second fifth',
    goal: { at_most: 1.1 },
    value: memoryGrowth('tokenlat'),
  },
  { name: 'memory.growth_minimal', meaning: 'the same of TokenLat minimal', value: memoryGrowth('tokenlat-minimal') },
];

/** A model server whose every 20th answer is 503, against one that never fails; measured one after the other. */
const FAILING: readonly Figure[] = [
  {
    name: 'failing.cpu',
    meaning: 'CPU of TokenLat with a second backend, 5 % of the answers of the model server 503 ÷ none',
    value: between('failing', 'scale', EXT_PROC, 'tokenlat-spare'),
  },
  {
    name: 'failing.throughput',
    meaning: 'requests a second at saturation, 5 % of the answers 503 ÷ none',
    value: between('failing', 'scale', throughput, 'tokenlat-spare'),
  },
  {
    name: 'failing.failed_share',
    meaning: 'share of the requests that fail all the same',
    value: plainly('failing', failedShare, 'tokenlat-spare'),
  },
];

const FLOOR: readonly Figure[] = [
  ...several({
    name: 'echo.ext_proc_cpu',
    meaning: 'CPU of the ext_proc server, TokenLat with everything on ÷ the bare echo',
    workloads: ['plain', 'stream100', 'prompt-8k', 'prompt-1m'],
    value: (workload) => ratio(workload, EXT_PROC, 'echo'),
  }),
  ...several({
    name: 'echo.ext_proc_cpu',
    suffix: '_minimal',
    meaning: 'CPU of the ext_proc server, TokenLat minimal ÷ the bare echo',
    workloads: ['plain', 'stream100'],
    value: (workload) => ratio(workload, EXT_PROC, 'echo', 'tokenlat-minimal'),
  }),
  ...several({
    name: 'echo.throughput',
    meaning: 'requests a second at saturation, TokenLat ÷ the bare echo',
    workloads: ['plain'],
    value: (workload) => ratio(workload, throughput, 'echo'),
  }),
  ...several({
    name: 'grpc_js.ext_proc_cpu',
    meaning: 'CPU of the ext_proc server, TokenLat ÷ itself on grpc-js',
    workloads: ['plain', 'stream100'],
    value: (workload) => ratio(workload, EXT_PROC, 'tokenlat-grpc-js'),
  }),
  ...several({
    name: 'envoy.envoy_cpu',
    meaning: 'CPU of Envoy, with TokenLat behind it ÷ alone',
    workloads: ['plain', 'stream100'],
    value: (workload) => ratio(workload, cpu('envoy'), 'envoy'),
  }),
];

/** What limits cost. */
const limits = (name: string, meaning: string, pick: Measure): Figure => ({
  name: `limits.${name}_plain`,
  meaning: `${meaning}, all 40 limits of a tenant ÷ none`,
  value: ratio('limits', pick, 'tokenlat-no-limits', 'tokenlat-all-limits'),
});

/** Milliseconds more than the model server asked directly takes. */
const DIRECT: readonly Figure[] = [
  { name: 'added_p50', meaning: 'median latency at 100 requests a second', value: added('latency', p50) },
  { name: 'added_p95', meaning: '95th percentile at 100 requests a second', value: added('latency', p95) },
  { name: 'added_p99', meaning: '99th percentile at 100 requests a second', value: added('latency', p99) },
  {
    name: 'echo_added_p50',
    meaning: 'median latency at 100 requests a second, by the bare echo',
    value: added('latency', p50, 'echo'),
  },
  {
    name: 'added_p50_one_connection',
    meaning: 'median latency on one connection, one request after the other',
    goal: { at_most: 1 },
    value: added('plain-1', p50),
  },
  {
    name: 'ttft_added_p50',
    meaning: 'median time to the first token, 5 streams a second',
    goal: { at_most: 1 },
    value: added('first-token', firstByte),
  },
  {
    name: 'echo_ttft_added_p50',
    meaning: 'median time to the first token, 5 streams a second, by the bare echo',
    value: added('first-token', firstByte, 'echo'),
  },
  {
    name: 'jitter_p50_added',
    meaning: 'time by which a gap between two tokens misses the pace of 50 a second, median',
    value: added('stream100-slow', jitter50),
  },
  {
    name: 'jitter_p99_added',
    meaning: 'time by which a gap between two tokens misses the pace of 50 a second, 99th percentile',
    value: added('stream100-slow', jitter99),
  },
].map((figure) => ({
  ...figure,
  name: `direct.${figure.name}_ms`,
  meaning: `ms added to the model server asked directly: ${figure.meaning}`,
}));

/** In the order of the page. */
export const FIGURES: readonly Figure[] = [
  ...PEER_FIGURES,
  ...WORKERS,
  ...OTHER_PEER_FIGURES,
  ...DIRECT,
  {
    name: 'own.time_share',
    meaning: 'latency that TokenLat adds at 50 requests a second, as a share of the 1.2 s that the model takes',
    goal: { at_most: 0.0066 },
    value: (round) => added('slow-model', p50)(round) / 1200,
  },
  ...GROWTH,
  ...FAILING,
  limits('cpu', 'CPU of TokenLat', EXT_PROC),
  limits('redis_cpu', 'CPU of Redis', cpu('redis')),
  limits('throughput', 'requests a second at saturation', throughput),
  ...FLOOR,
];
