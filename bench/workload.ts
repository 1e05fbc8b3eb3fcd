import { chatPayload, embeddingsPayload, type Payload } from './payload.ts';
import type { PeerName, SetupName } from './setups/setup.ts';

/** One kind of load. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  /** Setups of one stage run side by side; the next stage starts its own. */
  readonly stage: 'core' | 'limits' | 'scale';
  readonly payload: Payload;
  readonly connections: number;
  /** Requests a second of an open loop; null for a closed loop. */
  readonly rate: number | null;
  readonly durationMs: number;
  readonly setups: readonly SetupName[];
  /** The model server itself fails some. */
  readonly failing?: true;
}

/** What a run of the bench does. */
export interface Plan {
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  /** Before a gateway's first workload: it takes thousands of requests until V8 has compiled all of its code well. */
  readonly firstWarmUpMs: number;
  /** Before any other workload. */
  readonly warmUpMs: number;
  /** For how long nothing is asked, to know what the processes use by themselves. */
  readonly idleMs: number;
  readonly workloads: readonly Workload[];
}

const PLAIN = chatPayload({ name: 'plain', promptBytes: 200 });
const SLOW_MODEL = chatPayload({ name: 'slow-model', promptBytes: 200, delayMs: 1200 });
const FAILING = chatPayload({ name: 'failing', promptBytes: 200, failEvery: 20 });
const streamed = (name: string, chunks: number, paceMs: number): Payload =>
  chatPayload({ name, promptBytes: 200, stream: { chunks, paceMs } });

const THREE: readonly SetupName[] = ['envoy', 'echo', 'tokenlat'];
const OURS: readonly SetupName[] = [...THREE, 'tokenlat-minimal'];

/** Safely less than two minutes. */
export function quickPlan(peers: readonly PeerName[]): Plan {
  return {
    mode: 'quick',
    rounds: 3,
    firstWarmUpMs: 4000,
    warmUpMs: 500,
    idleMs: 2000,
    workloads: [
      closed('plain', 'plain chat, 16 connections', PLAIN, 16, 1200, ['direct', ...OURS, 'tokenlat-2', ...peers]),
      closed(
        'stream100',
        'stream of 100 chunks, one every 2 ms, 24 connections',
        streamed('stream100', 100, 2),
        24,
        1500,
        ['direct', ...THREE, ...peers],
      ),
      open('latency', 'plain chat, 100 requests a second', PLAIN, 100, 1500, ['direct', 'echo', 'tokenlat', ...peers]),
    ],
  };
}

/** With more rounds, other bodies, paces and numbers of connections, and setups of other sizes. */
export function fullPlan(peers: readonly PeerName[]): Plan {
  const all: readonly SetupName[] = [...OURS, 'tokenlat-2', ...peers];
  const one: readonly SetupName[] = [...OURS, ...peers];
  const scale: readonly SetupName[] = [
    'tokenlat',
    'tokenlat-10-tenants',
    'tokenlat-10k-tenants',
    'tokenlat-1k-routes',
    'tokenlat-spare',
  ];
  return {
    mode: 'full',
    rounds: 5,
    firstWarmUpMs: 20_000,
    warmUpMs: 1500,
    idleMs: 5000,
    workloads: [
      closed('plain', 'plain chat, 16 connections', PLAIN, 16, 3000, ['direct', ...all]),
      closed(
        'stream100',
        'stream of 100 chunks, one every 2 ms, 24 connections',
        streamed('stream100', 100, 2),
        24,
        4000,
        ['direct', ...one],
      ),
      open('latency', 'plain chat, 100 requests a second', PLAIN, 100, 5000, ['direct', ...one]),
      open('slow-model', 'plain chat of a model that takes 1.2 s, 50 requests a second', SLOW_MODEL, 50, 6000, [
        'direct',
        'envoy',
        'tokenlat',
        ...peers,
      ]),
      closed('plain-1', 'plain chat, 1 connection', PLAIN, 1, 2000, one),
      closed('plain-64', 'plain chat, 64 connections', PLAIN, 64, 2500, all),
      closed('plain-256', 'plain chat, 256 connections', PLAIN, 256, 2500, one),
      closed('prompt-8k', 'plain chat, prompt of 8 KB, 16 connections', prompt('prompt-8k', 8192), 16, 2500, one),
      closed('prompt-1m', 'plain chat, prompt of 1 MB, 4 connections', prompt('prompt-1m', 1 << 20), 4, 3000, one),
      closed('embeddings', 'embeddings of 100 inputs, 16 connections', embeddingsPayload('embeddings', 100), 16, 2500, [
        'envoy',
        'tokenlat',
        'tokenlat-minimal',
        ...peers,
      ]),
      closed(
        'stream100-slow',
        'stream of 100 tokens, 50 a second, 64 connections',
        streamed('stream100-slow', 100, 20),
        64,
        6000,
        ['direct', ...one],
      ),
      closed(
        'stream2000',
        'stream of 2,000 chunks, one every ms, 8 connections',
        streamed('stream2000', 2000, 1),
        8,
        4000,
        one,
      ),
      {
        ...closed('limits', 'plain chat, 16 connections', PLAIN, 16, 3000, [
          'tokenlat-no-limits',
          'tokenlat-all-limits',
        ]),
        stage: 'limits',
      },
      { ...closed('scale', 'plain chat, 16 connections, tenants and routes', PLAIN, 16, 3000, scale), stage: 'scale' },
      {
        ...closed('failing', 'plain chat, 5 % of the model server’s answers are 503', FAILING, 16, 3000, [
          'tokenlat',
          'tokenlat-spare',
        ]),
        stage: 'scale',
        failing: true,
      },
    ],
  };
}

/** How long a plan takes on a quiet machine, in seconds. */
export function estimate(plan: Plan): number {
  const again = 400;
  let ms = 0;
  for (const { setups, durationMs, payload } of plan.workloads) {
    const tail = payload.name.startsWith('stream') ? 500 : 0;
    ms += setups.length * (plan.warmUpMs + plan.rounds * (durationMs + tail + again));
  }
  const started = new Map(plan.workloads.map(({ stage }) => [stage, new Set<SetupName>()]));
  for (const { stage, setups } of plan.workloads) for (const name of setups) started.get(stage)?.add(name);
  for (const names of started.values()) ms += plan.idleMs + names.size * (2000 + plan.firstWarmUpMs);
  return Math.round(ms / 1000);
}

function prompt(name: string, promptBytes: number): Payload {
  return chatPayload({ name, promptBytes });
}

function closed(
  name: string,
  title: string,
  payload: Payload,
  connections: number,
  durationMs: number,
  setups: readonly SetupName[],
): Workload {
  return { name, title, stage: 'core', payload, connections, rate: null, durationMs, setups };
}

function open(
  name: string,
  title: string,
  payload: Payload,
  rate: number,
  durationMs: number,
  setups: readonly SetupName[],
): Workload {
  return { name, title, stage: 'core', payload, connections: 256, rate, durationMs, setups };
}
