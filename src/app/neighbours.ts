import { join } from 'node:path';
import type { AttemptExchange } from '../core/exchange.ts';
import { parseRequestId } from '../core/ids.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { StreamFault } from '../extproc/stream-fault.ts';
import { borrowAttempt, tellUpstreamCut } from '../flow/handoff-client.ts';
import { startHandoffServer } from '../flow/handoff-server.ts';
import type { Gateway } from './gateway.ts';

export interface NeighboursOptions {
  readonly gateway: Gateway;
  /** Number of this worker, and how many there are. */
  readonly index: number;
  readonly workers: number;
  /** Where the workers of this server keep the sockets on which they find each other. */
  readonly runDir: string;
  /** Patience for one answer of a neighbour. */
  readonly timeoutMs: number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What one worker does for requests that live in another, and the other way round. */
export interface Neighbours {
  /** The exchange of an attempt, wherever its request is. Throws `StreamFault`. */
  readonly attempt: (id: string, cluster: string, isConnected: boolean, address: string) => AttemptExchange;
  /** Envoy's word that an upstream broke, to whoever has the request. */
  readonly upstreamCut: (id: string) => void;
  /** Begins to lend our own requests. */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Envoy sends both streams of a request to one worker, unless that changes between them: then the two workers talk. */
export function createNeighbours(options: NeighboursOptions): Neighbours {
  const { gateway, index, workers, runDir, timeoutMs, log, metrics } = options;
  const path = (worker: number): string => join(runDir, `handoff-${worker}.sock`);
  let lending: { close(): Promise<void> } | null = null;

  const cutHere = (id: string): boolean => {
    const parsed = parseRequestId(id);
    const request = parsed === null ? undefined : gateway.live.get(parsed.id);
    request?.upstreamCut();
    return request !== undefined;
  };
  const elsewhere = (id: string): number | null => {
    const worker = parseRequestId(id)?.worker ?? null;
    return worker === null || worker === index || worker >= workers ? null : worker;
  };

  return {
    attempt(id, cluster, isConnected, address) {
      const own = gateway.attempt(id, cluster, isConnected, address);
      if (own !== null) return own;
      const worker = elsewhere(id);
      if (worker !== null) {
        metrics.anomaly('attempt_elsewhere');
        return borrowAttempt({ path: path(worker), id, cluster, isConnected, address, timeoutMs });
      }
      if (parseRequestId(id) === null) {
        metrics.anomaly('unknown_attempt');
        throw new StreamFault('invalid', 'this attempt names no request of ours');
      }
      // Its request may just have ended, or be at another server that has a worker of the same number.
      throw new StreamFault('unavailable', 'this attempt belongs to no request under way here');
    },
    upstreamCut(id) {
      const worker = elsewhere(id);
      if (!cutHere(id) && worker !== null) tellUpstreamCut(path(worker), id);
    },
    async start() {
      lending = await startHandoffServer({
        path: path(index),
        attempt: gateway.attempt,
        onUpstreamCut: (id) => void cutHere(id),
        log,
      });
    },
    async close() {
      await lending?.close();
    },
  };
}
