import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadJob, LoadResult } from './load/load-job.ts';
import { rawRequest } from './payload.ts';
import { processFigures } from './process-figures.ts';
import type { Program } from './setups/child-process.ts';
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
  /** Microseconds a request, by whose they are. */
  readonly cpuUs: Readonly<Partial<Record<Role, number>>>;
  readonly rssMb: Readonly<Partial<Record<Role, number>>>;
  /** Messages from Envoy to ext_proc and back, a request, both levels together; null where there is no ext_proc. */
  readonly messages: { readonly sent: number; readonly received: number } | null;
}

/** Time for what an answered request leaves to be done: its settlement. */
const SETTLE_MS = 100;

/** Puts `workload` on `setup` for a while and tells what it cost. */
export async function measure(load: Program, setup: Setup, workload: Workload, durationMs: number): Promise<Sample> {
  await setup.prepare(workload.payload.name);
  const job: LoadJob = {
    port: setup.port,
    payload: rawRequest(workload.payload).toString('base64'),
    connections: workload.connections,
    rate: workload.rate,
    durationMs,
  };
  const roles = Object.entries(setup.processes) as [Role, number][];
  const before = roles.map(([, pid]) => processFigures(pid));
  const messagesBefore = await messagesOf(setup);
  const { result } = await load.ask<{ result: LoadResult }>(job);
  await sleep(SETTLE_MS);
  const after = roles.map(([, pid]) => processFigures(pid));
  const messagesAfter = await messagesOf(setup);
  const { requests, failed, firstFailure, seconds, latencyMs, firstByteMs } = result;
  const each = Math.max(1, requests);
  return {
    requests,
    failed,
    firstFailure,
    throughput: requests / seconds,
    latencyMs,
    firstByteMs,
    cpuUs: Object.fromEntries(
      roles.map(([role], at) => [role, (((after[at]?.cpuMs ?? 0) - (before[at]?.cpuMs ?? 0)) * 1000) / each]),
    ),
    rssMb: Object.fromEntries(roles.map(([role], at) => [role, after[at]?.rssMb ?? 0])),
    messages:
      messagesBefore === null || messagesAfter === null || messagesAfter.sent === 0
        ? null
        : {
            sent: (messagesAfter.sent - messagesBefore.sent) / each,
            received: (messagesAfter.received - messagesBefore.received) / each,
          },
  };
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
