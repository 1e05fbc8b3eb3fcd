import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { createExtProcServer, type ExtProcServer } from '../extproc/server.ts';
import { bindAddress } from './bind-address.ts';
import type { Gateway } from './gateway.ts';
import type { LoadedConfig } from './load.ts';
import { createNeighbours } from './neighbours.ts';
import { serverLimits } from './server-limits.ts';

export interface OpenWireOptions {
  readonly loaded: LoadedConfig;
  readonly index: number;
  readonly runDir: string;
  readonly gateway: Gateway;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The wire of one worker: the server that Envoy asks, and the sockets on which workers find each other. */
export interface Wire {
  readonly server: ExtProcServer;
  readonly neighbours: ReturnType<typeof createNeighbours>;
}

/** Opens both. Rejects when an address cannot be had. */
export async function openWire({ loaded, index, runDir, gateway, log, metrics }: OpenWireOptions): Promise<Wire> {
  const { server: settings } = loaded.snapshot;
  const neighbours = createNeighbours({
    gateway,
    index,
    workers: settings.workers,
    runDir,
    timeoutMs: settings.messageTimeoutMs,
    log,
    metrics,
  });
  const server = createExtProcServer({
    ...serverLimits(loaded.snapshot),
    grpc: settings.grpc,
    bind: bindAddress(loaded.snapshot, index),
    requestFactory: gateway.requestFactory,
    attemptFactory: (id, attributes) =>
      neighbours.attempt(
        id,
        attributes['xds.cluster_name'] ?? '',
        'upstream.local_address' in attributes,
        attributes['upstream.address'] ?? '',
      ),
    underWay: () => gateway.live.size,
    onUpstreamCut: neighbours.upstreamCut,
    log,
    metrics,
  });
  // The address first: whoever has it already has the sockets beside it, too.
  await server.start();
  await neighbours.start();
  return { server, neighbours };
}
