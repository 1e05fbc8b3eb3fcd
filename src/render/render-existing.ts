import { yamlText } from '../config/yaml-text.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { backendCluster, noPlanCluster, processorCluster, SYSTEM_CA_FILE } from './clusters.ts';
import { layeredRuntime } from './bootstrap.ts';
import { requestFilter, routerFilter } from './ext-proc.ts';
import { connectionManagerPieces } from './listener.ts';
import type { Proto } from './proto.ts';
import { virtualHost } from './routes.ts';

/**
 * The pieces for an Envoy that exists already: files to paste from, each with what it replaces and what must hold
 * around it. Endpoints stand in the clusters.
 */
export function renderExisting(
  snapshot: Snapshot,
  options: { readonly caFile?: string } = {},
): { readonly files: ReadonlyMap<string, string> } {
  const { caFile = SYSTEM_CA_FILE } = options;
  const backends = [...snapshot.backends.values()].map((backend) =>
    backendCluster(backend, snapshot.timeouts, { caFile, endpoints: null }),
  );
  const files = new Map<string, string>([
    [
      'connection-manager.yaml',
      piece(
        [
          'Into typed_config of your envoy.filters.network.http_connection_manager.',
          'http_filters: put the first one last among your filters, right before the router, and replace the router. No other',
          'ext_proc filter with FULL_DUPLEX_STREAMED bodies may stand in the same chain.',
          'The rest cleans what clients send and gives errors their shape. On the listener itself:',
          'per_connection_buffer_limit_bytes: 1048576',
        ],
        { ...connectionManagerPieces(snapshot), http_filters: [requestFilter(snapshot), routerFilter(snapshot)] },
      ),
    ],
    [
      'virtual-host.yaml',
      piece(
        [
          'Into virtual_hosts of your route configuration. Narrow `domains` to the names of the gateway.',
          'Its routes must stay the only ones for these domains: what another route serves has passed no check.',
        ],
        { virtual_hosts: [virtualHost(snapshot)] },
      ),
    ],
    [
      'clusters.yaml',
      piece(
        [
          'Into static_resources.clusters, or your CDS.',
          'Do not add outlier_detection: an ejected single host is a dead end, and our server decides who is tried.',
        ],
        { clusters: [processorCluster(snapshot), noPlanCluster(), ...backends] },
      ),
    ],
    [
      'bootstrap.yaml',
      piece(['Into the bootstrap. Where you have runtime layers already, add the value of the first one to them.'], {
        layered_runtime: layeredRuntime(),
      }),
    ],
  ]);
  return { files };
}

function piece(comment: readonly string[], content: Proto): string {
  const lines = ['Made by `tokenlat envoy render --existing`.', ...comment];
  return `${lines.map((line) => `# ${line}`).join('\n')}\n${yamlText(content)}`;
}
