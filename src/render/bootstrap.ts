import type { Snapshot } from '../core/snapshot.ts';
import { fileSource, socketAddress, extension } from './proto.ts';
import type { Proto } from './proto.ts';

/** The part that only a restart changes: who Envoy is, its admin listener, its bounds, and where the rest is read from. */
export function bootstrap(
  snapshot: Snapshot,
  node: { readonly id: string; readonly lds: string; readonly cds: string },
): Proto {
  return {
    node: { id: node.id, cluster: 'tokenlat' },
    admin: { address: socketAddress('127.0.0.1', snapshot.listen.adminPort) },
    dynamic_resources: { lds_config: fileSource(node.lds), cds_config: fileSource(node.cds) },
    overload_manager: overloadManager(),
    layered_runtime: layeredRuntime(),
  };
}

/** Lets Envoy end a stream of ours well instead of resetting it: a flood of resets would cost the whole connection. */
export function layeredRuntime(): Proto {
  return {
    layers: [
      { name: 'tokenlat', static_layer: { 'envoy.reloadable_features.ext_proc_graceful_grpc_close': true } },
      { name: 'admin', admin_layer: {} },
    ],
  };
}

function overloadManager(): Proto {
  return {
    resource_monitors: [
      extension(
        'envoy.resource_monitors.global_downstream_max_connections',
        'envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
        { max_active_downstream_connections: 50_000 },
      ),
    ],
  };
}
