/** The Endpoint Picker protocol, rule by rule, between our picker and an Envoy that knows nothing else of us. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { stringify } from 'yaml';
import { quietPorts } from '../support/quiet-ports.ts';
import { load } from '../../src/app/load.ts';
import { type RunningPicker, startPicker } from '../../src/app/start-picker.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { any, extension, type Proto } from '../../src/render/proto.ts';
import { silentLog } from '../../src/telemetry/silent.ts';
import {
  type BareEnvoy,
  clusterOf,
  poolOf,
  startBareEnvoy,
  startTinyUpstream,
  type TinyUpstream,
  tries,
} from '../support/bare-envoy.ts';

const SUBSET = 'x-gateway-destination-endpoint-subset';
const DESTINATION = 'x-gateway-destination-endpoint';
/** As many requests as the pool takes: one an endpoint. */
const ROOM = 3;

const dir = mkdtempSync(path.join(tmpdir(), 'tl-picker-'));
const configPath = path.join(dir, 'tokenlat.yaml');
const verdicts: string[] = [];
let up: readonly TinyUpstream[];
let picker: RunningPicker;
let envoy: BareEnvoy;
let opsPort = 0;
let pickerPort = 0;

function configure(): void {
  writeFileSync(
    configPath,
    stringify({
      version: 1,
      server: { ops: { port: opsPort } },
      auth: { api_keys: [{ name: 'k', key: 'a-key-of-a-client-of-32-characters', tenant: 't' }] },
      backends: [
        {
          name: 'gpu',
          pool: {},
          endpoints: up.map(({ address }) => ({ url: `http://${address}` })),
          health: {
            network: { interval: '500ms', timeout: '300ms', failures: 1, successes: 1 },
          },
          limits: { concurrency: ROOM },
        },
      ],
      models: [{ name: 'm', deployments: [{ backend: 'gpu' }] }],
    }),
  );
}

const start = (): Promise<RunningPicker> =>
  startPicker({
    loaded: load(configPath),
    backend: null,
    address: '127.0.0.1',
    port: pickerPort,
    tls: null,
    allowPlaintext: false,
    log: silentLog,
  });

const mode = (request: string, response = request): Proto => ({
  request_header_mode: 'SEND',
  response_header_mode: 'SEND',
  request_body_mode: request,
  response_body_mode: response,
  request_trailer_mode: request === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP',
  response_trailer_mode: response === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP',
});

/** What Envoy believes was decided, for the test to see. */
const told = (name: string, key: string): Proto => ({
  header: { key: name, value: `%DYNAMIC_METADATA(envoy.lb:${key})%` },
});

function routeOf(prefix: string, overrides: Proto): Proto {
  return {
    match: { prefix },
    route: tries(['gpu', 'gpu', 'gpu']),
    response_headers_to_add: [told('x-list', DESTINATION), told('x-served', `${DESTINATION}-served`)],
    typed_per_filter_config: {
      epp: any('envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute', { overrides }),
    },
  };
}

const FULL = mode('FULL_DUPLEX_STREAMED');
const MODES = { full: FULL, buffered: mode('BUFFERED'), head: mode('NONE'), mixed: mode('STREAMED') } as const;

before(async () => {
  up = await Promise.all(['a', 'b', 'c'].map(startTinyUpstream));
  [opsPort = 0, pickerPort = 0] = await quietPorts(2);
  configure();
  picker = await start();
  envoy = await startBareEnvoy({
    filters: [
      extension('hints', 'envoy.extensions.filters.http.header_to_metadata.v3.Config', {
        request_rules: [
          {
            header: 'x-subset',
            on_header_present: {
              metadata_namespace: 'envoy.lb.subset_hint',
              key: SUBSET,
              type: 'PROTOBUF_VALUE',
              encode: 'BASE64',
            },
            remove: true,
          },
        ],
      }),
      extension('epp', 'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor', {
        grpc_service: { envoy_grpc: { cluster_name: 'picker' } },
        processing_mode: FULL,
        message_timeout: '5s',
        mutation_rules: { disallow_is_error: true },
        metadata_options: {
          forwarding_namespaces: { untyped: ['envoy.lb', 'envoy.lb.subset_hint'] },
          receiving_namespaces: { untyped: ['envoy.lb'] },
        },
      }),
    ],
    routes: [
      ...Object.entries(MODES).map(([name, processing]) => routeOf(`/${name}/`, { processing_mode: processing })),
      routeOf('/open/', { failure_mode_allow: true }),
      routeOf('/open-buffered/', { failure_mode_allow: true, processing_mode: MODES.buffered }),
      routeOf('/', {}),
    ],
    clusters: [
      poolOf('gpu', up),
      clusterOf('picker', [{ port: pickerPort }], {
        common_lb_config: { healthy_panic_threshold: { value: 0 } },
        health_checks: [
          {
            timeout: '1s',
            interval: '0.2s',
            no_traffic_interval: '0.2s',
            unhealthy_threshold: 1,
            healthy_threshold: 1,
            // By liveness: while no endpoint is ready its 503 is the better answer.
            grpc_health_check: { service_name: 'liveness' },
          },
        ],
        typed_extension_protocol_options: {
          'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': any(
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
            { explicit_http_config: { http2_protocol_options: {} } },
          ),
        },
      }),
    ],
  });
  await waitUntil(async () => (await health('readiness')) === 'SERVING', { timeoutMs: 15_000 });
  await waitUntil(async () => (await envoy.stat('cluster.picker.membership_healthy')) === 1, { timeoutMs: 15_000 });
});
after(async () => {
  try {
    await envoy.stop();
    await picker.stop(0);
  } finally {
    await Promise.all(up.map((each) => each.close()));
    rmSync(dir, { recursive: true });
  }
});
beforeEach(() => {
  for (const each of up) {
    each.answer = 200;
    each.requests.length = 0;
  }
});

/** A rule of the protocol: its verdict is told at the end. */
function rule(name: string, check: () => Promise<void>): void {
  test(name, async () => {
    let verdict = 'FAILED';
    try {
      await check();
      verdict = 'holds';
    } finally {
      verdicts.push(`${verdict.padEnd(6)} | ${name}`);
    }
  });
}

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** By the metadata. */
  readonly list: readonly string[];
  readonly served: string;
}

const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });

async function send(where: string, headers: Record<string, string> = {}, body: string = BODY): Promise<Sent> {
  const response = await fetch(`${envoy.url}/${where}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    headers: response.headers,
    list: (response.headers.get('x-list') ?? '').split(','),
    served: response.headers.get('x-served') ?? '',
  };
}

/** `google.protobuf.Value` with a list of strings, as Envoy reads it from a header. */
function subset(addresses: readonly string[]): Record<string, string> {
  const field = (number: number, bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
  const values = Buffer.concat(addresses.map((address) => field(1, field(3, Buffer.from(address)))));
  return { 'x-subset': field(6, values).toString('base64') };
}

function health(service: string): Promise<string> {
  const client = new Client(picker.address, credentials.createInsecure());
  const name = Buffer.from(service);
  return new Promise<string>((resolve) => {
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      (value: Buffer) => value,
      (bytes) => (bytes[1] === 1 ? 'SERVING' : 'NOT_SERVING'),
      Buffer.concat([Buffer.from([0x0a, name.length]), name]),
      (error, value) => resolve(error === null ? (value ?? '') : (error.details ?? '')),
    );
  }).finally(() => client.close());
}

async function picks(outcome: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return Number(new RegExp(`tokenlat_picks_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
}

const addresses = (): readonly string[] => up.map(({ address }) => address);
const received = (): readonly { readonly at: string; readonly list: string; readonly body: string }[] =>
  up.flatMap(({ address, requests }) =>
    requests.map(({ headers, body }) => ({ at: address, list: String(headers[DESTINATION]), body: body.toString() })),
  );

for (const name of Object.keys(MODES))
  rule(`header and metadata name the same endpoints, and the first one serves (${name})`, async () => {
    const { status, list, served } = await send(name);
    assert.equal(status, 200);
    assert.deepEqual(received(), [{ at: list[0], list: list.join(','), body: BODY }]);
    assert.equal(served, list[0]);
  });

rule('the list is as long as there are tries, and names each endpoint once', async () => {
  const { list } = await send('full');
  assert.deepEqual(list.toSorted(), addresses().toSorted());
});

rule('what a client names itself does not count', async () => {
  const [, , last = ''] = addresses();
  for (let each = 0; each < 6; each += 1) {
    const { list } = await send('full', { [DESTINATION]: '127.0.0.1:1' });
    assert.equal(list.length, 3);
  }
  assert.ok(received().every(({ list }) => list.includes(last)));
});

rule('a subset is obeyed', async () => {
  const [a = '', b = '', c = ''] = addresses();
  for (const allowed of [[a], [b], [c], [a, b], [b, c], [c, '10.9.9.9:1']]) {
    for (let each = 0; each < 4; each += 1) {
      const { status, list } = await send('full', subset(allowed));
      assert.equal(status, 200);
      assert.deepEqual(list.toSorted(), allowed.filter((address) => addresses().includes(address)).toSorted());
    }
  }
});

rule('a subset that is empty, or has none of the pool, is 503', async () => {
  for (const allowed of [[], ['10.9.9.9:1'], [`${up[0]?.address}0`]]) {
    const { status, text } = await send('full', subset(allowed));
    assert.deepEqual([status, (JSON.parse(text) as { error: { code: string } }).error.code], [503, 'no_candidate']);
  }
  assert.equal(received().length, 0);
});

rule('when every endpoint has as many requests as it takes: 429', async () => {
  for (const each of up) each.answer = 'hang';
  const held = Array.from({ length: ROOM }, () => send('full'));
  await waitUntil(() => received().length === ROOM, { timeoutMs: 15_000 });
  assert.deepEqual(new Set(received().map(({ at }) => at)).size, ROOM, 'one has two while another has none');
  const { status, headers, text } = await send('full');
  assert.deepEqual(
    [status, headers.get('retry-after'), (JSON.parse(text) as { error: { code: string } }).error.code],
    [429, '1', 'pool_saturated'],
  );
  for (const each of up) each.release();
  for (const { status: late } of await Promise.all(held)) assert.equal(late, 200);
  // What ended counts no more.
  for (const each of up) each.answer = 200;
  assert.equal((await send('full')).status, 200);
});

rule('the endpoint that served is read back, and one that failed gets nothing more for a while', async () => {
  const before = await picks('moved');
  // Where most requests go now.
  for (let each = 0; each < 9; each += 1) await send('full');
  const [ill] = [...up].toSorted((one, other) => other.requests.length - one.requests.length);
  assert.ok(ill !== undefined);
  ill.requests.length = 0;
  ill.answer = 503;
  for (let each = 0; each < 30; each += 1) {
    const { status, served } = await send('full');
    assert.equal(status, 200);
    assert.notEqual(served, ill.address);
  }
  const moved = (await picks('moved')) - before;
  assert.equal(moved, ill.requests.length, 'each failed try was told of');
  assert.ok(moved >= 1 && moved <= 8, `${moved} of 30 went to an endpoint that always fails`);
});

rule('bodies of any size pass unchanged, in full duplex', async () => {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(300_000) }] });
  assert.equal((await send('full', {}, body)).status, 200);
  assert.equal((await send('full', {}, 'not JSON')).status, 200, 'what it means is for its server to judge');
  assert.deepEqual(
    received()
      .map((each) => each.body)
      .toSorted(),
    [body, 'not JSON'].toSorted(),
  );
});

rule('health by service: liveness, readiness, ext_proc', async () => {
  const services = ['', 'liveness', 'readiness', 'envoy.service.ext_proc.v3.ExternalProcessor'];
  assert.deepEqual(new Set(await Promise.all(services.map(health))), new Set(['SERVING']));
  assert.equal(await health('other'), 'unknown service');
});

rule('no endpoint ready: 503 and not ready, but alive', async () => {
  await Promise.all(up.map((each) => each.close()));
  await waitUntil(async () => (await health('readiness')) === 'NOT_SERVING', { timeoutMs: 15_000 });
  assert.equal(await health('liveness'), 'SERVING');
  const { status, text } = await send('full');
  assert.deepEqual([status, (JSON.parse(text) as { error: { code: string } }).error.code], [503, 'no_candidate']);
  await Promise.all(up.map((each) => each.listen()));
  await waitUntil(async () => (await health('readiness')) === 'SERVING', { timeoutMs: 15_000 });
  await waitUntil(async () => (await send('full')).status === 200, { timeoutMs: 15_000 });
});

rule('the picker is gone: FailClose refuses, FailOpen serves by the fallback', async () => {
  await picker.stop(0);
  for (const where of ['full', 'buffered']) {
    const { status } = await send(where);
    assert.ok(status >= 500, `${where}: ${status}`);
  }
  assert.equal(received().length, 0);
  // Envoy can go on with a body that it has not begun to send; in full duplex that needs word of a health check.
  assert.equal((await send('open-buffered')).status, 200);
  await waitUntil(async () => (await envoy.stat('cluster.picker.membership_healthy')) === 0, { timeoutMs: 15_000 });
  for (let each = 0; each < 6; each += 1)
    for (const where of ['open', 'open-buffered']) assert.equal((await send(where)).status, 200, where);
  assert.ok((await send('full')).status >= 500);
  picker = await start();
  await waitUntil(async () => (await send('full')).status === 200, { timeoutMs: 15_000 });
});

test('Envoy and the picker never misunderstood each other', async (t) => {
  for (const line of verdicts) t.diagnostic(line);
  for (const name of [
    'spurious_msgs_received',
    'rejected_header_mutations',
    'clear_route_cache_ignored',
    'message_timeouts',
  ])
    assert.equal(await envoy.stat(name), 0, name);
});
