import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { waitUntil } from '../../src/app/wait-until.ts';
import { picked } from '../../src/render/picked.ts';
import { any, extension, type Proto, socketAddress } from '../../src/render/proto.ts';
import { envoyBin } from '../render/envoy.ts';
import { quietPorts } from './quiet-ports.ts';

/** An upstream of a test: answers `GET /health` and everything else as it is told, and remembers what came. */
export interface TinyUpstream {
  readonly port: number;
  readonly address: string;
  /** Status of its answers; `hang`: none until `release`; `reset`: a broken connection. */
  answer: number | 'hang' | 'reset';
  isWell: boolean;
  readonly requests: { readonly headers: http.IncomingHttpHeaders; readonly body: Buffer }[];
  readonly release: () => void;
  readonly close: () => Promise<void>;
  readonly listen: () => Promise<void>;
}

export async function startTinyUpstream(name: string): Promise<TinyUpstream> {
  const held = new Set<http.ServerResponse>();
  const server = http.createServer((request, response) => {
    if (request.url === '/health') {
      response.writeHead(upstream.isWell ? 200 : 503).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      upstream.requests.push({ headers: request.headers, body: Buffer.concat(chunks) });
      if (upstream.answer === 'reset') request.socket.destroy();
      else if (upstream.answer === 'hang') held.add(response);
      else response.writeHead(upstream.answer, { 'content-type': 'text/plain' }).end(name);
    });
  });
  let port = 0;
  const listen = (): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  await listen();
  port = (server.address() as { port: number }).port;
  const upstream: TinyUpstream = {
    port,
    address: `127.0.0.1:${port}`,
    answer: 200,
    isWell: true,
    requests: [],
    release() {
      for (const response of held) response.writeHead(200).end(name);
      held.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    listen,
  };
  return upstream;
}

/** A static cluster of these, in its order. */
export function clusterOf(name: string, upstreams: readonly Pick<TinyUpstream, 'port'>[], extra: Proto = {}): Proto {
  const lbEndpoints = upstreams.map(({ port }) => ({ endpoint: { address: socketAddress('127.0.0.1', port) } }));
  return {
    name,
    type: 'STATIC',
    connect_timeout: '1s',
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: lbEndpoints }] },
    ...extra,
  };
}

/** The same as a pool, as we render one. */
export const poolOf = (name: string, upstreams: readonly TinyUpstream[], extra: Proto = {}): Proto =>
  clusterOf(name, upstreams, { load_balancing_policy: picked({ slowStartMs: 0 }), ...extra });

/** Try n goes to the n-th of `clusters`, the last one takes the rest. */
export function tries(clusters: readonly string[], extra: Proto = {}): Proto {
  return {
    inline_cluster_specifier_plugin: {
      extension: extension(
        'envoy.router.cluster_specifier_plugin.priority_group',
        'envoy.extensions.router.cluster_specifiers.priority_group.v3.PriorityGroupClusterSpecifier',
        {
          priority_groups: clusters.map((cluster, at) => ({
            name: `try-${at + 1}`,
            clusters: [{ cluster_name: cluster, weight: 1 }],
          })),
        },
      ),
    },
    timeout: '0s',
    retry_policy: {
      retry_on: 'connect-failure,refused-stream,reset-before-request,retriable-status-codes,reset',
      retriable_status_codes: [503],
      num_retries: clusters.length - 1,
      refresh_cluster_on_retry: true,
      retry_back_off: { base_interval: '0.002s', max_interval: '0.004s' },
      ...extra,
    },
  };
}

/** Puts a header's text into the metadata `envoy.lb`: `x-list` as the list of endpoints. */
export function listFromHeader(extra: readonly Proto[] = []): Proto {
  return extension('lists', 'envoy.extensions.filters.http.header_to_metadata.v3.Config', {
    request_rules: [
      {
        header: 'x-list',
        on_header_present: { metadata_namespace: 'envoy.lb', key: 'x-gateway-destination-endpoint', type: 'STRING' },
        remove: true,
      },
      ...extra,
    ],
  });
}

export interface BareEnvoy {
  readonly url: string;
  /** Of all counters and gauges whose names have it. */
  readonly stat: (name: string) => Promise<number>;
  readonly admin: (path: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

export interface BareEnvoyOptions {
  readonly routes: readonly Proto[];
  readonly clusters: readonly Proto[];
  /** Before the router. */
  readonly filters?: readonly Proto[];
}

/** Envoy with one listener and nothing of ours in front of it. */
export async function startBareEnvoy({ routes, clusters, filters = [] }: BareEnvoyOptions): Promise<BareEnvoy> {
  const [port = 0, adminPort = 0] = await quietPorts(2);
  const manager = {
    stat_prefix: 'h',
    route_config: { validate_clusters: false, virtual_hosts: [{ name: 'v', domains: ['*'], routes }] },
    http_filters: [
      ...filters,
      extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {}),
    ],
  };
  const listener = {
    name: 'l',
    address: socketAddress('127.0.0.1', port),
    filter_chains: [
      {
        filters: [
          {
            name: 'hcm',
            typed_config: any(
              'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
              manager,
            ),
          },
        ],
      },
    ],
  };
  const dir = mkdtempSync(path.join(tmpdir(), 'tl-bare-'));
  const file = path.join(dir, 'envoy.json');
  writeFileSync(
    file,
    JSON.stringify({
      admin: { address: socketAddress('127.0.0.1', adminPort) },
      static_resources: { listeners: [listener], clusters },
    }),
  );
  const baseId = String(40_000 + (process.pid % 20_000));
  const args = ['-c', file, '--base-id', baseId, '--concurrency', '1', '-l', 'error'];
  const child = spawn(envoyBin(), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const admin = async (name: string): Promise<string> => (await fetch(`http://127.0.0.1:${adminPort}${name}`)).text();
  const isUp = async (): Promise<boolean> => (await admin('/ready').catch(() => '')).startsWith('LIVE');
  await waitUntil(async () => child.exitCode !== null || (await isUp()), { timeoutMs: 15_000 });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    rmSync(dir, { recursive: true });
  };
  if (child.exitCode !== null || !(await isUp())) {
    await stop();
    throw new Error(`Envoy did not start: ${output}`);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    admin,
    async stat(name) {
      const lines = (await admin(`/stats?filter=${encodeURIComponent(name)}`)).split('\n');
      return lines.reduce((sum, line) => sum + Number(/: (\d+)$/.exec(line)?.[1] ?? 0), 0);
    },
    stop,
  };
}
