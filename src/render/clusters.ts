import { isIpAddress, isLoopback } from '../lib/address/address.ts';
import { workerAddresses } from '../config/worker-address.ts';
import type { Backend, Snapshot } from '../core/snapshot.ts';
import { AFFINITY_HEADER } from '../core/envoy-headers.ts';
import { CONNECTION_BUFFER_BYTES, NO_PLAN_CLUSTER, PROCESSOR_CLUSTER } from './names.ts';
import { picked } from './picked.ts';
import { any, extension, seconds, socketAddress } from './proto.ts';
import type { Proto } from './proto.ts';

/** System bundle of certificate authorities on Debian, Ubuntu and Alpine. */
export const SYSTEM_CA_FILE = '/etc/ssl/certs/ca-certificates.crt';

/** Our own limits decide; Envoy's stand far above them, since its refusal would not move on to the next candidate. */
const UNLIMITED = {
  thresholds: [
    { max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000, max_retries: 100_000 },
  ],
};

/** A backend by address gets its endpoints from a file of its own; one by name from DNS. */
export function hasEndpointFile(backend: Backend): boolean {
  return backend.endpoints.every((endpoint) => isIpAddress(endpoint.host));
}

export interface BackendClusterOptions {
  readonly caFile: string;
  /** Source of the endpoints; null puts them into the cluster. */
  readonly endpoints: Proto | null;
}

/** One cluster a backend. Panic threshold and outlier detection stay as they are by default: ejecting the only host is a dead end. */
export function backendCluster(
  backend: Backend,
  timeouts: Snapshot['timeouts'],
  options: BackendClusterOptions,
): Proto {
  const { endpoints, caFile } = options;
  const byAddress = hasEndpointFile(backend);
  return {
    name: backend.name,
    ...(endpoints !== null && byAddress
      ? { type: 'EDS', eds_cluster_config: { eds_config: endpoints, service_name: backend.name } }
      : { type: byAddress ? 'STATIC' : 'STRICT_DNS', load_assignment: loadAssignment(backend) }),
    connect_timeout: seconds(timeouts.connectMs),
    ...(backend.pool === undefined ? { lb_policy: 'LEAST_REQUEST' } : { load_balancing_policy: picked(backend.pool) }),
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    circuit_breakers: UNLIMITED,
    ...deadHost(timeouts.deadHostMs),
    ...(backend.health === null
      ? {}
      : { health_checks: [healthCheck(backend.health)], close_connections_on_host_health_failure: true }),
    ...protocol({
      explicit_http_config: backend.http2
        ? { http2_protocol_options: { connection_keepalive: pings(timeouts.deadHostMs) } }
        : { http_protocol_options: {} },
    }),
    ...(backend.tls ? { transport_socket: upstreamTls(backend, caFile) } : {}),
  };
}

/** `IPPROTO_TCP` and `TCP_USER_TIMEOUT` of Linux. */
const TCP_USER_TIMEOUT = { level: 6, name: 18 };

/**
 * A host that lost its power sends no reset: without this, silence is all that tells, and that is also what long answers sound
 * like. The kernel asks from half of the time on whether the other side is there, and ends the connection when nothing was
 * acknowledged for all of it, sent bytes and probes alike. Envoy then replays what ran on it.
 */
function deadHost(ms: number): Proto {
  const secondsOf = (part: number): number => Math.max(1, Math.floor((ms * part) / 1000));
  return {
    upstream_connection_options: {
      tcp_keepalive: { keepalive_time: secondsOf(1 / 2), keepalive_interval: secondsOf(1 / 4), keepalive_probes: 3 },
    },
    upstream_bind_config: {
      socket_options: [{ description: 'TCP_USER_TIMEOUT', ...TCP_USER_TIMEOUT, int_value: ms, state: 'STATE_PREBIND' }],
    },
  };
}

/** Over HTTP/2 the server itself must answer, so one that hangs is found out in the same time. */
function pings(deadHostMs: number): Proto {
  return { interval: seconds(deadHostMs / 2), timeout: seconds(deadHostMs / 2) };
}

/** Endpoints and weights of one backend, by zone. */
export function loadAssignment(backend: Backend): Proto {
  const zones = [...new Set(backend.endpoints.map(({ zone }) => zone))];
  return {
    cluster_name: backend.name,
    endpoints: zones.map((own) => ({
      ...(own === undefined ? {} : { locality: { zone: own } }),
      lb_endpoints: backend.endpoints
        .filter(({ zone }) => zone === own)
        .map(({ host, port, weight }) => ({
          endpoint: { address: socketAddress(host, port), hostname: host },
          load_balancing_weight: weight,
        })),
    })),
  };
}

function healthCheck(health: NonNullable<Backend['health']>): Proto {
  return {
    timeout: seconds(health.timeoutMs),
    interval: seconds(health.intervalMs),
    no_traffic_interval: seconds(health.intervalMs),
    interval_jitter_percent: 10,
    unhealthy_threshold: health.unhealthyAfter,
    healthy_threshold: health.healthyAfter,
    http_health_check: { path: health.path },
  };
}

/** The name in the certificate is the name in the URL. */
function upstreamTls(backend: Backend, caFile: string): Proto {
  const hosts = new Set(backend.endpoints.map((endpoint) => endpoint.host));
  const [only] = hosts;
  const single = hosts.size === 1 && only !== undefined && !isIpAddress(only) ? only : null;
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    ...(single === null ? { auto_host_sni: true } : { sni: single }),
    auto_sni_san_validation: true,
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      alpn_protocols: [backend.http2 ? 'h2' : 'http/1.1'],
      validation_context: { trusted_ca: { filename: caFile } },
    },
  });
}

function protocol(options: Proto): Proto {
  return {
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': any(
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        options,
      ),
    },
  };
}

/**
 * Envoy also takes the window for the mark at which a call that sends too much pushes back. In the upstream filter chain
 * Envoy 1.40 crashes on that push, so the mark lies where no try ever comes: it sends only until we have answered.
 */
export const STREAM_WINDOW = 268_435_456;
const MAX_WINDOW = 2_147_483_647;

/**
 * Our workers. A ring hash by the affinity key sends both levels of a request to one worker, and moves no other request
 * when a worker goes. The health check takes a worker that is dead, or drains, out within seconds.
 */
export function processorCluster(snapshot: Snapshot): Proto {
  const { transport } = snapshot.server;
  const addresses = workerAddresses(snapshot.server).map((worker) =>
    worker.kind === 'unix' ? { pipe: { path: worker.path } } : socketAddress(worker.address, worker.port),
  );
  const named = transport.kind === 'tcp' && !isIpAddress(transport.address);
  return {
    name: PROCESSOR_CLUSTER,
    type: named ? 'STRICT_DNS' : 'STATIC',
    connect_timeout: '1s',
    lb_policy: 'RING_HASH',
    load_assignment: {
      cluster_name: PROCESSOR_CLUSTER,
      endpoints: [{ lb_endpoints: addresses.map((address) => ({ endpoint: { address } })) }],
    },
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    circuit_breakers: UNLIMITED,
    health_checks: [
      {
        timeout: '1s',
        interval: '0.5s',
        no_traffic_interval: '0.5s',
        unhealthy_interval: '0.5s',
        unhealthy_threshold: 2,
        healthy_threshold: 1,
        grpc_health_check: { service_name: 'envoy.service.ext_proc.v3.ExternalProcessor' },
      },
    ],
    ...protocol({
      explicit_http_config: {
        http2_protocol_options: {
          initial_stream_window_size: STREAM_WINDOW,
          initial_connection_window_size: MAX_WINDOW,
          // A worker that stands still: its requests would wait past every timeout of ours, for the clock is the worker's.
          connection_keepalive: { interval: '5s', timeout: '10s' },
        },
      },
      hash_policy: [{ header: { header_name: AFFINITY_HEADER } }],
    }),
    ...(transport.kind === 'tcp' && transport.mtls !== null
      ? { transport_socket: workerTls(transport.mtls, transport.address) }
      : {}),
  };
}

function workerTls(mtls: { readonly cert: string; readonly key: string; readonly ca: string }, address: string): Proto {
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    ...(isIpAddress(address) || isLoopback(address) ? {} : { sni: address, auto_sni_san_validation: true }),
    common_tls_context: {
      alpn_protocols: ['h2'],
      tls_certificates: [{ certificate_chain: { filename: mtls.cert }, private_key: { filename: mtls.key } }],
      validation_context: { trusted_ca: { filename: mtls.ca } },
    },
  });
}

/** A request that reaches this cluster was not judged: it ends with 503 here. */
export function noPlanCluster(): Proto {
  return {
    name: NO_PLAN_CLUSTER,
    type: 'STATIC',
    connect_timeout: '1s',
    load_assignment: { cluster_name: NO_PLAN_CLUSTER, endpoints: [] },
  };
}
