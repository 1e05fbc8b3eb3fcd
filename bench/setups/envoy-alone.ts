import { yamlText } from '../../src/config/yaml-text.ts';
import type { Snapshot } from '../../src/core/snapshot.ts';
import { backendCluster } from '../../src/render/clusters.ts';
import { connectionManagerPieces, listener } from '../../src/render/listener.ts';
import { extension, socketAddress, type Proto } from '../../src/render/proto.ts';

/** Envoy as TokenLat renders it, the same listener with the same options and log, but nothing of ours in the path. */
export function envoyAlone(snapshot: Snapshot): string {
  const [backend] = snapshot.backends.values();
  if (backend === undefined) throw new Error('the configuration has no backend');
  const route_config = {
    name: 'alone',
    virtual_hosts: [
      {
        name: 'alone',
        domains: ['*'],
        routes: [{ match: { prefix: '/' }, route: { cluster: backend.name, timeout: '0s' } }],
      },
    ],
  };
  const manager = extension(
    'envoy.filters.network.http_connection_manager',
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: 'alone',
      codec_type: 'AUTO',
      ...connectionManagerPieces(snapshot),
      http_filters: [
        extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {
          suppress_envoy_headers: true,
        }),
      ],
      route_config,
    },
  );
  const front: Proto = { ...listener(snapshot, { route_config }, null), filter_chains: [{ filters: [manager] }] };
  return yamlText({
    node: { id: 'bench', cluster: 'bench' },
    admin: { address: socketAddress('127.0.0.1', snapshot.listen.adminPort) },
    static_resources: {
      listeners: [front],
      clusters: [backendCluster(backend, snapshot.timeouts, { caFile: '', endpoints: null })],
    },
  });
}
