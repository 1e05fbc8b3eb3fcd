import path from 'node:path';
import { yamlText } from '../config/yaml-text.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { bootstrap } from './bootstrap.ts';
import {
  backendCluster,
  hasEndpointFile,
  loadAssignment,
  noPlanCluster,
  processorCluster,
  SYSTEM_CA_FILE,
} from './clusters.ts';
import { listener } from './listener.ts';
import { any, fileSource } from './proto.ts';
import type { Proto } from './proto.ts';
import { routeConfiguration } from './routes.ts';

export interface RenderOptions {
  /** Name of this Envoy in its own statistics. */
  readonly nodeId: string;
  /** Folder in which Envoy will find the files: an absolute path on Envoy's side. */
  readonly dir: string;
  /** Bundle of certificate authorities for backends with TLS. Default: that of Debian and Alpine. */
  readonly caFile?: string;
}

/** Name of the file that Envoy is started with; the others are read through it. */
export const BOOTSTRAP_FILE = 'envoy.yaml';

const HEADER = '# Made by `tokenlat envoy render`: changes made here are lost.\n';
const CERTIFICATE = 'tokenlat-listener';
/**
 * Backends that have their endpoints in files of their own. Envoy holds an inotify instance for each such file, dies when it
 * gets none, and Linux gives 128 to all processes of a user.
 */
const MOST_ENDPOINT_FILES = 48;

/**
 * Everything for an Envoy of our own. The bootstrap changes with the admin port only; listener, routes, clusters and
 * endpoints are files that Envoy follows without a restart. The order of the map is the order in which to write: what is
 * named stands before what names it. Same snapshot, same bytes.
 */
export function renderEnvoy(
  snapshot: Snapshot,
  options: RenderOptions,
): { readonly files: ReadonlyMap<string, string> } {
  const { nodeId, dir, caFile = SYSTEM_CA_FILE } = options;
  const at = (name: string): string => path.posix.join(dir, name);
  const files = new Map<string, string>();
  const backends = [...snapshot.backends.values()];
  const inFiles = backends.filter(hasEndpointFile).length <= MOST_ENDPOINT_FILES;
  for (const backend of backends) {
    if (!inFiles || !hasEndpointFile(backend)) continue;
    files.set(
      endpointFile(backend.name),
      resources('envoy.config.endpoint.v3.ClusterLoadAssignment', [loadAssignment(backend)]),
    );
  }
  const clusters = backends.map((backend) =>
    backendCluster(backend, snapshot.timeouts, {
      caFile,
      endpoints: inFiles ? fileSource(at(endpointFile(backend.name))) : null,
    }),
  );
  files.set(
    'clusters.yaml',
    resources('envoy.config.cluster.v3.Cluster', [processorCluster(snapshot), noPlanCluster(), ...clusters]),
  );
  const { tls } = snapshot.listen;
  if (tls !== null)
    files.set('certificate.yaml', resources('envoy.extensions.transport_sockets.tls.v3.Secret', [certificate(tls)]));
  files.set('routes.yaml', resources('envoy.config.route.v3.RouteConfiguration', [routeConfiguration(snapshot)]));
  const secret = {
    tls_certificate_sds_secret_configs: [{ name: CERTIFICATE, sds_config: fileSource(at('certificate.yaml')) }],
  };
  const front = listener(snapshot, { rds: fileSource(at('routes.yaml')) }, tls === null ? null : secret);
  files.set('listener.yaml', resources('envoy.config.listener.v3.Listener', [front]));
  const start = bootstrap(snapshot, { id: nodeId, lds: at('listener.yaml'), cds: at('clusters.yaml') });
  files.set(BOOTSTRAP_FILE, HEADER + yamlText(start));
  return { files };
}

/** Name of the file with the endpoints of one backend. */
export function endpointFile(backend: string): string {
  return `endpoints-${backend}.yaml`;
}

/** The folder is watched too, so that a renewed certificate is taken up. */
function certificate(tls: { readonly cert: string; readonly key: string }): Proto {
  return {
    name: CERTIFICATE,
    tls_certificate: {
      certificate_chain: { filename: tls.cert },
      private_key: { filename: tls.key },
      watched_directory: { path: path.posix.dirname(tls.cert) },
    },
  };
}

function resources(type: string, items: readonly Proto[]): string {
  return HEADER + yamlText({ resources: items.map((item) => any(type, item)) });
}
