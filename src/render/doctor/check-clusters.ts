import type { Backend, Snapshot } from '../../core/snapshot.ts';
import { STREAM_WINDOW } from '../clusters.ts';
import { CONNECTION_BUFFER_BYTES, NO_PLAN_CLUSTER, PROCESSOR_CLUSTER } from '../names.ts';
import { workerAddresses } from '../../config/worker-address.ts';
import type { EnvoyConfig, Tree } from './config-dump.ts';
import type { Report } from './finding.ts';

/** Is there a cluster for each backend, and none with a dead end in it? */
export function checkClusters(config: EnvoyConfig, snapshot: Snapshot, report: Report): void {
  for (const name of [PROCESSOR_CLUSTER, NO_PLAN_CLUSTER, ...snapshot.backends.keys()]) {
    if (!config.clusters.has(name))
      report(
        'error',
        'cluster_missing',
        `There is no cluster ${name}.`,
        'Render again and check that Envoy took it over (update_rejected).',
      );
  }
  for (const backend of snapshot.backends.values()) {
    const cluster = config.clusters.get(backend.name);
    if (cluster === undefined) continue;
    if (cluster.get('outlier_detection').value !== undefined && backend.endpoints.length < 2)
      report(
        'error',
        'outlier_detection',
        `Cluster ${backend.name} ejects its only host: such requests fail and are not retried elsewhere.`,
        'Remove outlier_detection.',
      );
    checkPool(backend, cluster, report);
    checkBreakers(backend.name, cluster, snapshot, report);
    checkDeadHost(backend.name, cluster, report);
  }
  const processor = config.clusters.get(PROCESSOR_CLUSTER);
  if (processor !== undefined) checkProcessor(processor, snapshot, report);
}

/** `TCP_USER_TIMEOUT` of Linux. */
const USER_TIMEOUT = 18;

function checkDeadHost(name: string, cluster: Tree, report: Report): void {
  const asksAround = cluster.get('upstream_connection_options').get('tcp_keepalive').value !== undefined;
  const options = cluster.get('upstream_bind_config').get('socket_options').items();
  const gives = options.some((option) => Number(option.get('name').value) === USER_TIMEOUT);
  if (!asksAround || !gives)
    report(
      'warning',
      'dead_host',
      `Cluster ${name} takes a host without power for one that is silent: its requests wait for timeouts.idle.`,
      'Set upstream_connection_options and upstream_bind_config as rendered.',
    );
}

/** Does Envoy go by our list there, and only where we make one? */
function checkPool({ name, pool }: Backend, cluster: Tree, report: Report): void {
  const policies = cluster.get('load_balancing_policy').get('policies').items();
  const isPicked = policies.some((policy) =>
    policy.get('typed_extension_config').get('typed_config').get('@type').text().endsWith('.OverrideHost'),
  );
  if (isPicked === (pool !== undefined)) return;
  report(
    'error',
    'pool_policy',
    isPicked
      ? `Cluster ${name} goes by lists of endpoints, and the backend is no pool: Envoy chooses as it likes.`
      : `Cluster ${name} does not go by our list of endpoints: Envoy sends requests to others than we picked.`,
    'Set load_balancing_policy as rendered.',
  );
}

function checkBreakers(name: string, cluster: Tree, snapshot: Snapshot, report: Report): void {
  const limit = cluster.get('circuit_breakers').get('thresholds').items()[0]?.get('max_requests').value;
  const most = typeof limit === 'number' ? limit : 1024;
  const ours = [...snapshot.models.values()]
    .flatMap((model) => model.deployments)
    .filter((deployment) => deployment.backend.name === name)
    .reduce((sum, deployment) => sum + (deployment.concurrency?.limit ?? 0), 0);
  if (most <= Math.max(ours, 1024))
    report(
      'warning',
      'circuit_breaker',
      `Cluster ${name} allows ${most} requests: Envoy refuses before our limit does, and does not move on.`,
      'Set circuit_breakers as rendered.',
    );
}

function checkProcessor(cluster: Tree, snapshot: Snapshot, report: Report): void {
  const hosts = cluster
    .get('load_assignment')
    .get('endpoints')
    .items()
    .flatMap((group) => group.get('lb_endpoints').items());
  const workers = workerAddresses(snapshot.server).length;
  if (hosts.length !== workers)
    report(
      'error',
      'workers',
      `Cluster ${PROCESSOR_CLUSTER} has ${hosts.length} addresses; the server runs ${workers} workers.`,
      'Render again.',
    );
  const options = cluster
    .get('typed_extension_protocol_options')
    .get('envoy.extensions.upstreams.http.v3.HttpProtocolOptions');
  const { value: window } = options
    .get('explicit_http_config')
    .get('http2_protocol_options')
    .get('initial_stream_window_size');
  if (typeof window !== 'number' || window < STREAM_WINDOW)
    report(
      'error',
      'stream_window',
      `Cluster ${PROCESSOR_CLUSTER} has a small HTTP/2 window: Envoy crashes when a large answer waits for our verdict.`,
      `Set initial_stream_window_size: ${STREAM_WINDOW}.`,
    );
  const policy = cluster.get('lb_policy').text() || 'ROUND_ROBIN';
  if (workers > 1 && policy !== 'RING_HASH' && policy !== 'MAGLEV')
    report(
      'warning',
      'affinity',
      `Cluster ${PROCESSOR_CLUSTER} spreads by ${policy}: the two levels of a request land in different workers.`,
      'Set lb_policy: RING_HASH and the hash policy as rendered.',
    );
}

/** The largest piece of a body in one message is the connection's buffer: our server takes as much as the largest body. */
export function checkBuffers(config: EnvoyConfig, snapshot: Snapshot, report: Report): void {
  const most = snapshot.limits.bodyBytes + CONNECTION_BUFFER_BYTES;
  for (const { listener } of config.managers) {
    const { value } = listener.get('per_connection_buffer_limit_bytes');
    if (typeof value === 'number' && value > most)
      report(
        'error',
        'buffer_limit',
        `Listener ${listener.get('name').text()} buffers ${value} bytes: more than our server takes in one message.`,
        `Set per_connection_buffer_limit_bytes: ${CONNECTION_BUFFER_BYTES}.`,
      );
    else if (typeof value === 'number' && value < 32_768)
      report(
        'warning',
        'buffer_limit',
        `Listener ${listener.get('name').text()} buffers ${value} bytes only: bodies come in many small pieces.`,
        `Set per_connection_buffer_limit_bytes: ${CONNECTION_BUFFER_BYTES}.`,
      );
  }
}
