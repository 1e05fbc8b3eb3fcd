import { chatPayload, embeddingsPayload, type Payload } from './payload.ts';
import type { PeerName, SetupName } from './setups/setup.ts';
import type { Plan, Workload } from './workload.ts';

type Wanted = Partial<Workload> & Pick<Workload, 'name' | 'title' | 'durationMs' | 'setups'>;

const prompt = (name: string, promptBytes: number): Payload => chatPayload({ name, promptBytes });
const streamed = (name: string, chunks: number, paceMs: number): Payload =>
  chatPayload({ name, promptBytes: 200, stream: { chunks, paceMs } });

const PLAIN = prompt('plain', 200);
const STREAM = streamed('stream100', 100, 2);

/** What asks for more than a peer has: it serves chat alone, or a stream of this length keeps it busy for ten seconds. */
const WITHOUT: Readonly<Record<string, readonly SetupName[]>> = {
  embeddings: ['echo', 'nullplatform'],
  stream2000: ['litellm', 'nullplatform'],
};

const able = (workload: string, setups: readonly SetupName[]): readonly SetupName[] =>
  setups.filter((name) => WITHOUT[workload]?.includes(name) !== true);

const THREE: readonly SetupName[] = ['envoy', 'echo', 'tokenlat'];
const OURS: readonly SetupName[] = [...THREE, 'tokenlat-minimal'];

/** Plain chat on 16 connections where nothing else is said. */
function workload(wanted: Wanted): Workload {
  return { stage: 'core', payload: PLAIN, connections: 16, rate: null, ...wanted };
}

/** Safely less than three minutes without peers. */
export function quickPlan(peers: readonly PeerName[]): Plan {
  return {
    mode: 'quick',
    rounds: 3,
    firstWarmUpMs: 3000,
    warmUpMs: 300,
    idleMs: 1500,
    workloads: [
      workload({
        name: 'plain',
        title: 'plain chat, 16 connections',
        durationMs: 1200,
        setups: ['direct', ...OURS, 'tokenlat-2', ...peers],
      }),
      stream100(1500, ['direct', ...THREE, ...peers]),
      latency(1500, ['direct', 'echo', 'tokenlat', ...peers]),
      firstToken(2500, ['direct', 'echo', 'tokenlat']),
    ],
  };
}

/** With more rounds, other bodies, paces and numbers of connections, and setups of other sizes. */
export function fullPlan(peers: readonly PeerName[]): Plan {
  const one: readonly SetupName[] = [...OURS, ...peers];
  return {
    mode: 'full',
    rounds: 5,
    firstWarmUpMs: 12_000,
    warmUpMs: 800,
    idleMs: 5000,
    workloads: [
      workload({
        name: 'plain',
        title: 'plain chat, 16 connections',
        durationMs: 2500,
        setups: ['direct', ...OURS, 'tokenlat-grpc-js', 'tokenlat-2', ...peers],
      }),
      stream100(3000, ['direct', ...one, 'tokenlat-grpc-js']),
      latency(4000, ['direct', ...one]),
      workload({
        name: 'latency-2',
        title: 'plain chat, 200 requests a second on two workers',
        connections: 256,
        rate: 200,
        durationMs: 4000,
        setups: ['tokenlat-2'],
        compared: true,
      }),
      firstToken(5000, ['direct', ...one]),
      workload({
        name: 'slow-model',
        title: 'plain chat of a model that takes 1.2 s, 50 requests a second',
        payload: chatPayload({ name: 'slow-model', promptBytes: 200, delayMs: 1200 }),
        connections: 256,
        rate: 50,
        durationMs: 4000,
        tailMs: 1200,
        setups: ['direct', 'envoy', 'tokenlat', ...peers],
      }),
      ...connections(peers),
      ...bodies(one),
      ...streams(one),
      ...sizes(),
    ],
  };
}

function stream100(durationMs: number, setups: readonly SetupName[]): Workload {
  const title = 'stream of 100 chunks, one every 2 ms, 24 connections';
  return workload({ name: 'stream100', title, payload: STREAM, connections: 24, durationMs, tailMs: 250, setups });
}

function latency(durationMs: number, setups: readonly SetupName[]): Workload {
  const title = 'plain chat, 100 requests a second';
  return workload({ name: 'latency', title, connections: 256, rate: 100, durationMs, setups });
}

/** Slow enough that both cores of a small machine are mostly idle with every setup, so that no stream waits for another. */
function firstToken(durationMs: number, setups: readonly SetupName[]): Workload {
  return workload({
    name: 'first-token',
    title: 'stream of 100 chunks, one every 2 ms, 5 streams a second',
    payload: streamed('first-token', 100, 2),
    connections: 256,
    rate: 5,
    durationMs,
    tailMs: 250,
    setups,
  });
}

function connections(peers: readonly PeerName[]): readonly Workload[] {
  return [1, 64, 256].map((count) =>
    workload({
      name: `plain-${count}`,
      title: `plain chat, ${count} connection${count === 1 ? '' : 's'}`,
      connections: count,
      durationMs: 1500,
      setups: ['direct', ...OURS, ...(count === 64 ? (['tokenlat-2'] as const) : []), ...peers],
      // The latency of one connection has a goal.
      ...(count === 1 ? {} : { minor: true }),
    }),
  );
}

function bodies(setups: readonly SetupName[]): readonly Workload[] {
  return [
    workload({
      name: 'prompt-8k',
      title: 'plain chat, prompt of 8 KB, 16 connections',
      payload: prompt('prompt-8k', 8192),
      durationMs: 1500,
      setups,
      minor: true,
    }),
    workload({
      name: 'prompt-1m',
      title: 'plain chat, prompt of 1 MB, 4 connections',
      payload: prompt('prompt-1m', 1 << 20),
      connections: 4,
      durationMs: 2500,
      setups,
      compared: true,
      minor: true,
    }),
    workload({
      name: 'embeddings',
      title: 'embeddings of 100 inputs, 16 connections',
      payload: embeddingsPayload('embeddings', 100),
      durationMs: 1500,
      setups: able('embeddings', setups),
      minor: true,
    }),
  ];
}

function streams(setups: readonly SetupName[]): readonly Workload[] {
  return [
    workload({
      name: 'stream100-slow',
      title: 'stream of 100 tokens, 50 a second, 5 streams a second',
      payload: streamed('stream100-slow', 100, 20),
      connections: 256,
      rate: 5,
      durationMs: 4000,
      tailMs: 2100,
      setups: ['direct', ...setups],
      minor: true,
    }),
    workload({
      name: 'stream2000',
      title: 'stream of 2,000 chunks, one every ms, 8 connections',
      payload: streamed('stream2000', 2000, 1),
      connections: 8,
      durationMs: 2500,
      tailMs: 2000,
      setups: able('stream2000', setups),
      minor: true,
    }),
  ];
}

/** What only TokenLat has: its limits, many tenants, many routes, a second backend. */
function sizes(): readonly Workload[] {
  return [
    workload({
      name: 'limits',
      title: 'plain chat, 16 connections, with no limit and with all',
      stage: 'limits',
      durationMs: 2500,
      setups: ['tokenlat-no-limits', 'tokenlat-all-limits'],
    }),
    workload({
      name: 'scale',
      title: 'plain chat, 16 connections, many tenants and routes',
      stage: 'scale',
      durationMs: 2500,
      setups: [
        'tokenlat',
        'tokenlat-10-tenants',
        'tokenlat-10k-tenants',
        'tokenlat-1k-routes',
        'tokenlat-spare',
        'tokenlat-logged',
      ],
    }),
    workload({
      name: 'failing',
      title: 'plain chat, 16 connections, 5 % of the model server’s answers are 503',
      stage: 'scale',
      payload: chatPayload({ name: 'failing', promptBytes: 200, failEvery: 20 }),
      durationMs: 2500,
      setups: ['tokenlat', 'tokenlat-spare'],
      compared: true,
      failing: true,
      minor: true,
    }),
  ];
}
