import type { Payload } from './payload.ts';
import { chatPayload } from './payload.ts';
import type { Peer } from './peers/peer.ts';
import type { SetupName } from './setups/setup.ts';

/** One kind of load. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly payload: Payload;
  readonly connections: number;
  /** Requests a second of an open loop; null for a closed loop. */
  readonly rate: number | null;
  readonly durationMs: number;
  readonly setups: readonly SetupName[];
}

/** What a run of the bench does. */
export interface Plan {
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  /** Before a setup's first workload: it takes thousands of requests until V8 has compiled all of a gateway's code well. */
  readonly firstWarmUpMs: number;
  /** Before any other workload. */
  readonly warmUpMs: number;
  readonly workloads: readonly Workload[];
}

const LIMITS: readonly SetupName[] = ['tokenlat-no-limits', 'tokenlat-all-limits'];
const ALL: readonly SetupName[] = ['direct', 'envoy', 'echo', 'tokenlat', 'tokenlat-2', 'tokenlat-minimal'];
const GRPC: readonly SetupName[] = ['tokenlat-grpc-js'];
const ONE_WORKER = ALL.filter((name) => name !== 'tokenlat-2');
const THREE: readonly SetupName[] = ['envoy', 'echo', 'tokenlat'];

const PLAIN = chatPayload('plain', 200, false);
const STREAM = chatPayload('stream100', 200, true);

/** In less than three minutes, or with more rounds, larger prompts and other numbers of connections. */
export function planOf(mode: Plan['mode'], peers: readonly Peer[]): Plan {
  const others = peers.map(({ name }) => name);
  const quick = mode === 'quick';
  const durationMs = quick ? 1500 : 3000;
  const base = [
    closed('plain', 'plain chat, 16 connections', PLAIN, 16, durationMs, [...ALL, ...LIMITS, ...others]),
    closed('stream100', '100-chunk stream, 8 connections', STREAM, 8, quick ? 2000 : 4000, [...ONE_WORKER, ...others]),
    {
      ...closed('latency', 'plain chat, 100 requests a second', PLAIN, 64, quick ? 2000 : 6000, [
        'direct',
        ...THREE,
        ...others,
      ]),
      rate: 100,
    },
  ];
  if (quick) return { mode, rounds: 3, firstWarmUpMs: 6000, warmUpMs: 1000, workloads: base };
  const more = [
    closed('plain-1', 'plain chat, 1 connection', PLAIN, 1, durationMs, ONE_WORKER),
    closed('plain-64', 'plain chat, 64 connections', PLAIN, 64, durationMs, ALL),
    closed(
      'prompt-8k',
      'plain chat, prompt of 8 KB, 16 connections',
      chatPayload('prompt-8k', 8192, false),
      16,
      durationMs,
      THREE,
    ),
    closed(
      'prompt-1m',
      'plain chat, prompt of 1 MB, 4 connections',
      chatPayload('prompt-1m', 1 << 20, false),
      4,
      durationMs,
      THREE,
    ),
  ];
  return { mode, rounds: 5, firstWarmUpMs: 25_000, warmUpMs: 2000, workloads: [...base, ...more] };
}

function closed(
  name: string,
  title: string,
  payload: Payload,
  connections: number,
  durationMs: number,
  setups: readonly SetupName[],
): Workload {
  return { name, title, payload, connections, rate: null, durationMs, setups };
}
