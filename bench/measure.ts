import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadGenerator } from './load/load-generator.ts';
import type { LoadResult } from './load/load-job.ts';
import { processFigures } from './process-figures.ts';
import type { Role, Setup } from './setups/setup.ts';
import type { Workload } from './workload.ts';

/** One window of load on one setup. */
export interface Sample {
  readonly requests: number;
  readonly failed: number;
  readonly firstFailure: string | null;
  readonly throughput: number;
  readonly latencyMs: LoadResult['latencyMs'];
  readonly firstByteMs: LoadResult['firstByteMs'];
  readonly gapMs: LoadResult['gapMs'];
  readonly jitterMs: LoadResult['jitterMs'];
  /** Microseconds a request, by whose they are, without what the same processes use when nothing is asked. */
  readonly cpuUs: Readonly<Partial<Record<Role, number>>>;
  readonly rssMb: Readonly<Partial<Record<Role, number>>>;
  /** Messages from Envoy to ext_proc and back, a request, both levels together; null where there is no ext_proc. */
  readonly messages: { readonly sent: number; readonly received: number } | null;
}

/** Share of requests that may fail for want of a quiet machine. With more than that a window tells of no figure. */
const TOLERATED = 0.05;

/** Were nearly all requests of these windows answered well? */
export function isSound(windows: { readonly requests: number; readonly failed: number }): boolean {
  return windows.failed <= windows.requests * TOLERATED;
}

/** CPU milliseconds a second that a setup uses when nothing is asked, by whose they are. */
export type Idle = Readonly<Partial<Record<Role, number>>>;

/** Time for what an answered request leaves to be done: its settlement. */
const SETTLE_MS = 100;

/** Watches all setups together while nothing is asked. */
export async function idleOf(setups: readonly Setup[], durationMs: number): Promise<ReadonlyMap<Setup, Idle>> {
  const before = setups.map(figuresOf);
  const began = performance.now();
  await sleep(durationMs);
  const after = setups.map(figuresOf);
  const seconds = (performance.now() - began) / 1000;
  return new Map(
    setups.map((setup, at) => [
      setup,
      Object.fromEntries(
        rolesOf(setup).map((role) => [
          role,
          ((after[at]?.[role]?.cpuMs ?? 0) - (before[at]?.[role]?.cpuMs ?? 0)) / seconds,
        ]),
      ),
    ]),
  );
}

/** Puts `workload` on `setup` for a while and tells what it cost. */
export async function measure(
  load: LoadGenerator,
  setup: Setup,
  workload: Workload,
  { durationMs, idle = {} }: { readonly durationMs: number; readonly idle?: Idle },
): Promise<Sample> {
  await setup.prepare(workload.payload.name);
  await load.prepare(setup, workload);
  const messagesBefore = await messagesOf(setup);
  const before = figuresOf(setup);
  const began = performance.now();
  const result = await load.run(setup, workload, durationMs);
  await sleep(SETTLE_MS);
  const after = figuresOf(setup);
  const seconds = (performance.now() - began) / 1000;
  const messagesAfter = await messagesOf(setup);
  const { requests, failed, firstFailure, latencyMs, firstByteMs, gapMs, jitterMs } = result;
  const each = Math.max(1, requests);
  const cpuUs = (role: Role): number => {
    const used = (after[role]?.cpuMs ?? 0) - (before[role]?.cpuMs ?? 0) - (idle[role] ?? 0) * seconds;
    return (Math.max(0, used) * 1000) / each;
  };
  return {
    requests,
    failed,
    firstFailure,
    throughput: requests / result.seconds,
    latencyMs,
    firstByteMs,
    gapMs,
    jitterMs,
    cpuUs: Object.fromEntries(rolesOf(setup).map((role) => [role, cpuUs(role)])),
    rssMb: Object.fromEntries(rolesOf(setup).map((role) => [role, after[role]?.rssMb ?? 0])),
    messages:
      messagesBefore === null || messagesAfter === null || messagesAfter.sent === 0
        ? null
        : {
            sent: (messagesAfter.sent - messagesBefore.sent) / each,
            received: (messagesAfter.received - messagesBefore.received) / each,
          },
  };
}

function rolesOf(setup: Setup): readonly Role[] {
  return Object.keys(setup.processes) as Role[];
}

function figuresOf(setup: Setup): Partial<Record<Role, ReturnType<typeof processFigures>>> {
  return Object.fromEntries(rolesOf(setup).map((role) => [role, processFigures(setup.processes[role] ?? 0)] as const));
}

async function messagesOf({ admin, processes }: Setup): Promise<{ sent: number; received: number } | null> {
  if (admin === null || processes.ext_proc === undefined) return null;
  const response = await fetch(`http://127.0.0.1:${admin}/stats?filter=stream_msgs_(sent|received)$`);
  let sent = 0;
  let received = 0;
  for (const line of (await response.text()).split('\n')) {
    const value = Number(line.slice(line.lastIndexOf(':') + 1));
    if (line.includes('stream_msgs_sent')) sent += value;
    if (line.includes('stream_msgs_received')) received += value;
  }
  return { sent, received };
}
