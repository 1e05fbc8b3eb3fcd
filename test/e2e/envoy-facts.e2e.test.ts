/** What our arrangement is built on, held against Envoy alone: an update of Envoy that changes one of these is noticed here. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import { MalformedMessage } from '../../src/extproc/codec/malformed-message.ts';
import { STATUS } from '../../src/extproc/grpc/call.ts';
import { createGrpcServer } from '../../src/extproc/grpc/engines.ts';
import { externalProcessor } from '../../src/extproc/service.ts';
import { any, extension, type Proto } from '../../src/render/proto.ts';
import {
  type BareEnvoy,
  clusterOf,
  listFromHeader,
  poolOf,
  startBareEnvoy,
  startTinyUpstream,
  type TinyUpstream,
  tries,
} from '../support/bare-envoy.ts';

const HEALTH_CHECK = {
  timeout: '0.5s',
  interval: '0.1s',
  no_traffic_interval: '0.1s',
  unhealthy_threshold: 1,
  healthy_threshold: 1,
  http_health_check: { path: '/health' },
};
const EJECT_AT_ONCE = {
  consecutive_5xx: 1,
  enforcing_consecutive_5xx: 100,
  max_ejection_percent: 100,
  interval: '0.1s',
  base_ejection_time: '60s',
};
const NO_PANIC = { common_lb_config: { healthy_panic_threshold: { value: 0 } } };
const PREVIOUS = {
  retry_host_predicate: [
    {
      name: 'envoy.retry_host_predicates.previous_hosts',
      typed_config: any('envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate'),
    },
  ],
  host_selection_retry_max_attempts: 30,
};

const route = (path: string, action: Proto, extra: Proto = {}): Proto => ({
  match: { path },
  route: action,
  response_headers_to_add: [
    { header: { key: 'x-served', value: '%DYNAMIC_METADATA(envoy.lb:x-gateway-destination-endpoint-served)%' } },
    { header: { key: 'x-flags', value: '%RESPONSE_FLAGS%' } },
  ],
  ...extra,
});

/** Answers request heads with `clear_route_cache`, with a header beside it where the path ends so. */
async function startProcessor(): Promise<{ readonly port: number; readonly close: () => void }> {
  const process = externalProcessor((call) => ({
    onMessage(message) {
      assert.ok(!(message instanceof MalformedMessage));
      const isBeside = message.headers.some(([name, value]) => name === ':path' && value.endsWith('header'));
      const change = { clearRouteCache: true, ...(isBeside ? { set: [['x-a', 'b']] as const } : {}) };
      call.write({ kind: 'request_headers', change });
    },
    onEnd: () => call.end(STATUS.ok, ''),
    onDrain: () => {},
    onClose: () => {},
  }));
  const server = createGrpcServer('lean', {
    bind: { kind: 'tcp', address: '127.0.0.1', port: 0, tls: null },
    methods: [process],
    messageBytes: 1 << 20,
    streams: 1000,
    onFault: (reason) => assert.fail(String(reason)),
  });
  return { port: await server.start(), close: server.destroy };
}

let processor: { readonly port: number; readonly close: () => void };
/** Of cluster `pool`: 0 to 2; of `pool-b`: 3 and 4; alone: 5 and on. */
let up: readonly TinyUpstream[];
let envoy: BareEnvoy;
let number: ReadonlyMap<string, number>;

const at = (index: number): TinyUpstream => up[index] as TinyUpstream;
const some = (...indices: readonly number[]): readonly TinyUpstream[] => indices.map(at);

before(async () => {
  processor = await startProcessor();
  up = await Promise.all(Array.from({ length: 10 }, (_, index) => startTinyUpstream(String(index))));
  number = new Map(up.map(({ address }, index) => [address, index]));
  const checked = { health_checks: [HEALTH_CHECK] };
  const extProc = extension('proc', 'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor', {
    grpc_service: { envoy_grpc: { cluster_name: 'processor' } },
    processing_mode: { request_header_mode: 'SEND', response_header_mode: 'SKIP' },
    message_timeout: '5s',
  });
  envoy = await startBareEnvoy({
    filters: [
      listFromHeader([
        {
          header: 'x-list-b',
          on_header_present: { metadata_namespace: 'envoy.lb', key: 'list-b', type: 'STRING' },
          remove: true,
        },
      ]),
      { ...extProc, disabled: true },
    ],
    routes: [
      route('/pool', tries(['pool', 'pool', 'pool'])),
      route('/pool-previous', tries(['pool', 'pool', 'pool'], PREVIOUS)),
      route('/pool-pool-b', tries(['pool', 'pool', 'pool-b'])),
      route('/pool-b-pool', tries(['pool', 'pool-b', 'pool'])),
      route('/pool-own', tries(['pool', 'pool-own'])),
      route('/pool-alone', tries(['pool', 'alone'])),
      route('/checked', tries(['checked'])),
      route('/ejected', tries(['ejected'])),
      route('/dead-end', tries(['dead-end', 'alone'])),
      route('/panic', tries(['panic', 'alone'])),
      route('/full', tries(['full', 'alone'])),
      route('/unknown', tries(['not-there', 'alone'])),
      route('/refused', tries(['refused', 'alone'])),
      route('/answers-503', tries(['answers-503', 'alone'])),
      ...['/clear', '/clear-with-header'].map((path) =>
        route(path, tries(['alone']), {
          typed_per_filter_config: { proc: any('envoy.config.route.v3.FilterConfig', { config: {} }) },
        }),
      ),
    ],
    clusters: [
      poolOf('pool', some(0, 1, 2)),
      poolOf('pool-b', some(3, 4)),
      poolOf('pool-own', some(3, 4), ownList()),
      poolOf('checked', some(0, 5), checked),
      poolOf('ejected', some(0, 6), { outlier_detection: EJECT_AT_ONCE }),
      clusterOf('alone', some(9)),
      clusterOf('dead-end', some(7), { outlier_detection: EJECT_AT_ONCE, ...NO_PANIC }),
      clusterOf('panic', some(8), { outlier_detection: EJECT_AT_ONCE }),
      clusterOf('full', some(1), { circuit_breakers: { thresholds: [{ max_requests: 0 }] } }),
      clusterOf('refused', [{ port: 1 }]),
      clusterOf('answers-503', some(2)),
      clusterOf('processor', [processor], {
        typed_extension_protocol_options: {
          'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': any(
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
            { explicit_http_config: { http2_protocol_options: {} } },
          ),
        },
      }),
    ],
  });
});
after(async () => {
  try {
    await envoy.stop();
  } finally {
    processor.close();
    await Promise.all(up.map((each) => each.close()));
  }
});
beforeEach(() => {
  for (const each of up) {
    each.answer = 200;
    each.isWell = true;
    each.requests.length = 0;
  }
});

/** A pool that reads its list from a place of its own. */
function ownList(): Proto {
  const { load_balancing_policy: policy } = poolOf('x', []);
  return {
    load_balancing_policy: JSON.parse(JSON.stringify(policy).replace('"x-gateway-destination-endpoint"', '"list-b"')),
  };
}

interface Sent {
  readonly status: number;
  /** Who got it, in order. */
  readonly path: readonly number[];
  readonly flags: string;
  /** As Envoy wrote it; -1 = nobody. */
  readonly served: number;
}

/** Sends one request; `list`: indices of upstreams, or an address. */
async function send(
  path: string,
  list: readonly (number | string)[] = [],
  headers: Readonly<Record<string, string>> = {},
): Promise<Sent> {
  const before = up.map(({ requests }) => requests.length);
  const order: number[] = [];
  const text = list.map((one) => (typeof one === 'number' ? at(one).address : one)).join(',');
  const watch = up.map((each, index) => {
    const { requests } = each;
    const push = requests.push.bind(requests);
    requests.push = (...items) => (order.push(index), push(...items));
    return () => Reflect.deleteProperty(requests, 'push');
  });
  const response = await fetch(envoy.url + path, {
    headers: { ...(text === '' ? {} : { 'x-list': text }), ...headers },
  });
  await response.text();
  for (const end of watch) end();
  assert.ok(before.length === up.length);
  return {
    status: response.status,
    path: order,
    flags: response.headers.get('x-flags') ?? '',
    served: number.get(response.headers.get('x-served') ?? '') ?? -1,
  };
}

const all503 = (): void => {
  for (const each of up) each.answer = 503;
};

test('F1: a list goes before health: a host that failed its check, or was ejected, gets what names it', async () => {
  at(5).isWell = false;
  await waitUntil(async () => (await envoy.admin('/clusters')).includes('/failed_active_hc'), { timeoutMs: 15_000 });
  for (let each = 0; each < 6; each += 1) assert.deepEqual((await send('/checked', [5, 0])).path, [5]);
  // Without a list it gets nothing.
  for (let each = 0; each < 6; each += 1) assert.deepEqual((await send('/checked')).path, [0]);
  assert.equal(await envoy.stat('cluster.checked.membership_healthy'), 1);
  at(6).answer = 503;
  await send('/ejected', [6]);
  assert.equal(await envoy.stat('cluster.ejected.outlier_detection.ejections_active'), 1);
  for (let each = 0; each < 6; each += 1) assert.deepEqual((await send('/ejected', [6, 0])).path, [6]);
  for (let each = 0; each < 6; each += 1) assert.deepEqual((await send('/ejected')).path, [0]);
});

test('F2: who is out before a connection is made is a dead end; a refusal and a 503 are not', async () => {
  at(7).answer = 503;
  const first = await send('/dead-end');
  assert.deepEqual([first.status, first.path], [200, [7, 9]]);
  assert.equal(await envoy.stat('cluster.dead-end.outlier_detection.ejections_active'), 1);
  for (let each = 0; each < 3; each += 1) {
    const { status, path, flags } = await send('/dead-end');
    assert.deepEqual([status, path, flags], [503, [], 'UH']);
  }
  assert.equal(await envoy.stat('cluster.dead-end.upstream_cx_none_healthy'), 3);
  const full = await send('/full');
  assert.deepEqual([full.status, full.path, full.flags], [503, [], 'UO']);
  assert.ok(
    (await envoy.stat('cluster.full.*(overflow|rq_open)')) > 0,
    await envoy.admin('/stats?filter=cluster.full&usedonly'),
  );
  const unknown = await send('/unknown');
  assert.deepEqual([unknown.status, unknown.path, unknown.flags], [503, [], 'NC']);
  assert.equal(await envoy.stat('http.h.no_cluster'), 1);
  // With the panic threshold as it is by default the same ejection goes on to the next.
  at(8).answer = 503;
  for (let each = 0; each < 4; each += 1) assert.equal((await send('/panic')).status, 200);
  assert.equal(await envoy.stat('cluster.panic.outlier_detection.ejections_active'), 1);
  assert.deepEqual((await send('/refused')).path, [9]);
  assert.equal(await envoy.stat('cluster.refused.upstream_cx_connect_fail'), 1);
  at(2).answer = 503;
  assert.deepEqual((await send('/answers-503')).path, [2, 9]);
});

test('F3: try n takes entry n; past its end Envoy chooses for itself, the same host again unless it is told not to', async () => {
  all503();
  for (const list of [
    [1, 0, 2],
    [2, 2, 2],
  ])
    assert.deepEqual((await send('/pool', list)).path, list);
  // An address that is not in the cluster is passed over and costs no try.
  assert.deepEqual((await send('/pool', ['127.0.0.1:1', 2, 0, 1])).path, [2, 0, 1]);
  const [rest, apart] = [new Set<number>(), new Set<number>()];
  for (let each = 0; each < 20; each += 1) {
    const { path } = await send('/pool', [1]);
    assert.equal(path[0], 1);
    for (const one of path.slice(1)) rest.add(one);
    const other = await send('/pool-previous', [1]);
    apart.add(new Set(other.path).size);
  }
  assert.ok(rest.has(1), 'the host that was just tried was not chosen again in 20 requests');
  assert.deepEqual([...apart], [3], 'previous_hosts did not keep tries apart');
  assert.equal((await send('/pool')).path.length, 3, 'without a list it serves all the same');
  assert.equal((await envoy.stat('cluster.pool.upstream_rq_503')) > 0, true);
});

test('one list serves the pools of all tries, entry by entry, and a list for each pool is not read', async () => {
  all503();
  assert.deepEqual((await send('/pool-pool-b', [1, 0, 4])).path, [1, 0, 4]);
  assert.deepEqual((await send('/pool-b-pool', [1, 4, 0])).path, [1, 4, 0]);
  // A try at another pool uses up what is not of it: each try needs its entry at its place.
  const seconds = new Set<number | undefined>();
  for (let each = 0; each < 20; each += 1) {
    const { path } = await send('/pool-own', [1], { 'x-list-b': `${at(4).address},${at(4).address}` });
    seconds.add(path[1]);
  }
  assert.deepEqual(
    [3, 4].filter((one) => seconds.has(one)),
    [3, 4],
    'the second pool read its own list',
  );
  // What was served is not written for a cluster that goes by no list.
  const { path, served } = await send('/pool-alone', [1]);
  assert.deepEqual([path, served], [[1, 9], 1]);
  at(1).answer = 'reset';
  at(0).answer = 200;
  const moved = await send('/pool', [1, 0, 2]);
  assert.deepEqual([moved.status, moved.path, moved.served], [200, [1, 0], 0]);
});

test('F4: clear_route_cache without a header beside it is ignored, and counted', async () => {
  assert.equal((await send('/clear-with-header')).status, 200);
  assert.equal(await envoy.stat('clear_route_cache_ignored'), 0);
  assert.equal((await send('/clear')).status, 200);
  assert.equal(await envoy.stat('clear_route_cache_ignored'), 1);
});
