/** Requests whose first try has no stream of its own, held against the same requests where each try has one. */
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { MockRequest } from '../support/mock-upstream.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { useGateway } from '../support/use-gateway.ts';
import { question } from './chat-client.ts';
import { errorAnswer, streamAnswer, wholeAnswer } from './openai-answers.ts';
import { rawExchange } from './raw-exchange.ts';

const KEY = 'sk-key-of-the-backend-0123456789';

interface Case {
  readonly model: string;
  readonly path?: string;
  readonly lines?: readonly string[];
  /** Text goes out as it is. */
  readonly body?: Readonly<Record<string, unknown>> | string;
  readonly chunked?: boolean;
  readonly answers?: readonly UpstreamScript[];
  /** The backend does not listen. */
  readonly refuses?: boolean;
}

const ODD_BODY = (model: string): string =>
  `{ "messages" : [ {"role":"user","content":"\\u00fc \\ud83d\\ude00 / \\/ tab\\t"} ],\n "model":"${model}" , "seed": 9007199254740993, "vendor": {"a": 1e400, "b": [1.0, 2.50]} }`;

const SEVERAL: readonly UpstreamScript[] = [errorAnswer(503), errorAnswer(500), wholeAnswer()];

const CASES: Readonly<Record<string, Case>> = {
  'a chat': { model: 'plain' },
  'a chat, streamed': { model: 'plain', body: question('plain', { stream: true }), answers: [streamAnswer()] },
  'a chat, streamed with usage': {
    model: 'plain',
    body: question('plain', { stream: true, stream_options: { include_usage: true } }),
    answers: [streamAnswer()],
  },
  'bytes that no JSON writer would make': { model: 'plain', body: ODD_BODY('plain') },
  'the same, renamed': { model: 'renamed', body: ODD_BODY('renamed') },
  'a key and headers of the backend': { model: 'keyed' },
  'a backend by name, on a path': { model: 'named' },
  'a completion': { model: 'plain', path: '/v1/completions', body: { model: 'plain', prompt: 'Say some words.' } },
  embeddings: { model: 'plain', path: '/v1/embeddings', body: { model: 'plain', input: ['a', 'b'] } },
  'a query in the path': { model: 'plain', path: '/v1/chat/completions?a=b&key=secret' },
  'of vLLM': { model: 'vllm', answers: [errorAnswer(400)] },
  'of vLLM, streamed': { model: 'vllm', body: question('vllm', { stream: true }), answers: [errorAnswer(400)] },
  'of Anthropic': { model: 'claude', body: question('claude', { max_tokens: 20 }), answers: [errorAnswer(400)] },
  'a body in chunks': { model: 'plain', chunked: true },
  'a body of 3 MB': { model: 'plain', body: question('plain', { user: 'u'.repeat(3_000_000) }) },
  'a body of 3 MB, played again': {
    model: 'plain',
    body: question('plain', { user: 'u'.repeat(3_000_000) }),
    answers: [errorAnswer(503), wholeAnswer()],
  },
  'headers of a client': {
    model: 'keyed',
    lines: [
      'user-agent: client/1',
      'accept: */*',
      'accept-encoding: gzip, br',
      'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-vendor: one',
      'x-vendor: two',
      'x-app-id: app',
      'cookie: a=b',
      'x-api-key: forged',
      'x-org: forged',
      'x-forwarded-for: 10.1.2.3',
      'x-forwarded-host: forged.example',
      'x-forwarded-proto: https',
      'x-tokenlat-watch: direct',
      'x-envoy-attempt-count: 7',
      'anthropic-version: 1',
      'te: trailers',
    ],
  },
  'another host': { model: 'plain', lines: ['host: forged.example'] },
  'a status that is tried again': { model: 'keyed', answers: SEVERAL },
  'a status that stays': { model: 'plain', answers: [errorAnswer(503)] },
  'a status that is the answer': { model: 'plain', answers: [errorAnswer(404)] },
  'a backend that has no room': { model: 'plain', answers: [errorAnswer(429, { 'retry-after': '1' })] },
  'a connection that breaks': { model: 'plain', answers: [{ close_after_request: 'rst' }] },
  'no connection': { model: 'alone', refuses: true },
  'nobody there at all': { model: 'nobody' },
  silence: { model: 'plain', lines: ['x-request-timeout-ms: 250'], answers: [{ hang: true }] },
  'a request that cannot be carried': { model: 'vllm', body: question('vllm', { tools: [{ type: 'function' }] }) },
};

const { gateway, upstreams } = await useGateway({
  workers: 2,
  config: ([a, b, c]) => ({
    backends: [
      { name: 'plain', endpoints: [{ url: `${a.url}/v1` }] },
      {
        name: 'keyed',
        endpoints: [{ url: `${b.url}/base/v1` }],
        credentials: [
          { header: 'authorization', value: `Bearer ${KEY}` },
          { header: 'x-api-key', value: KEY },
        ],
        headers: { 'x-org': 'org', 'user-agent': 'gateway' },
      },
      { name: 'named', endpoints: [{ url: `http://localhost:${a.port}/deep/path` }] },
      { name: 'vllm', dialect: 'vllm-generate', endpoints: [{ url: a.url }] },
      {
        name: 'claude',
        dialect: 'anthropic',
        endpoints: [{ url: a.url }],
        credentials: [{ header: 'x-api-key', value: KEY }],
      },
      { name: 'alone', endpoints: [{ url: `${c.url}/v1` }] },
      { name: 'nobody', endpoints: [{ url: 'http://nobody.invalid/v1' }] },
    ],
    models: [
      { name: 'plain', deployments: [{ backend: 'plain' }] },
      { name: 'renamed', deployments: [{ backend: 'plain', model: 'the "name" there' }] },
      { name: 'keyed', deployments: [{ backend: 'keyed', model: 'org/keyed' }] },
      { name: 'named', deployments: [{ backend: 'named' }] },
      { name: 'vllm', deployments: [{ backend: 'vllm', chat_template: 'llama3' }] },
      { name: 'claude', deployments: [{ backend: 'claude' }] },
      { name: 'alone', deployments: [{ backend: 'alone' }] },
      { name: 'nobody', deployments: [{ backend: 'nobody' }] },
    ],
    retry: { base: '1ms', max: '2ms', retry_after_cap: '20ms' },
    limits: { body: '4MiB' },
  }),
});
const [a, , c] = upstreams;
const token = await gateway.token();
const port = Number(new URL(gateway.url).port);

/** What became of a request, for the client, the backend and the books. */
interface Outcome {
  readonly client: readonly unknown[];
  readonly backend: readonly unknown[];
  readonly attempts: readonly unknown[];
  readonly ledger: readonly unknown[];
  /** That Envoy opened for its tries. */
  readonly streams: number;
}

const seen = new Map<string, Outcome>();

before(async () => {
  for (const [name, each] of Object.entries(CASES)) seen.set(name, await outcomeOf('direct', name, each));
});

test('a first try has no stream, each further one has', () => {
  const streams = [...seen].map(([name, { streams }]) => [name, streams]);
  const further = [...seen].map(([name, { attempts }]) => [name, Math.max(0, attempts.length - 1)]);
  assert.deepEqual(streams, further);
});

test('credentials and host are those of the backend, and nothing of the gateway is seen', () => {
  for (const { backend } of seen.values())
    for (const request of backend as { readonly headers: readonly string[] }[]) {
      assert.ok(
        !request.headers.some((line) => /forged|x-tokenlat|x-envoy|x-forwarded|^cookie/.test(line)),
        String(request.headers),
      );
      assert.ok(request.headers.some((line) => /^content-length: \d+$/.test(line)));
    }
});

test('with trailers each try has a stream, and the trailers do not go on', async () => {
  a.respondWith(wholeAnswer());
  const streams = await attemptStreams();
  assert.equal(await withTrailers({ 'x-trailer': 'forged' }), 200);
  assert.equal((await attemptStreams()) - streams, 1);
  assert.ok(!JSON.stringify(a.requests.at(-1)?.headers).includes('forged'));
});

test('where Envoy has no such route, all is the same, for each try has a stream', async (t) => {
  await withoutRoute();
  for (const [name, each] of Object.entries(CASES))
    await t.test(name, async () => {
      const outcome = await outcomeOf('levels', name, each);
      assert.deepEqual({ ...seen.get(name), streams: outcome.attempts.length }, outcome);
    });
});

after(() => {
  for (const mock of upstreams) mock.clear();
});

async function outcomeOf(phase: string, name: string, each: Case): Promise<Outcome> {
  const { path = '/v1/chat/completions', lines = [], answers = [wholeAnswer()], chunked = false } = each;
  for (const mock of upstreams) {
    mock.requests.length = 0;
    mock.respondWith(answers);
  }
  if (each.refuses === true) await c.refuse();
  const streams = await attemptStreams();
  const id = `${phase}-${Object.keys(CASES).indexOf(name)}`;
  const body = Buffer.from(
    typeof each.body === 'string' ? each.body : JSON.stringify(each.body ?? question(each.model)),
  );
  const host = lines.some((line) => line.startsWith('host:')) ? [] : ['host: gateway.test'];
  const head = [
    `POST ${path} HTTP/1.1`,
    ...host,
    `authorization: Bearer ${token}`,
    'content-type: application/json; charset=utf-8',
    `x-request-id: ${id}`,
    chunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`,
    ...lines,
  ].join('\r\n');
  const sent = chunked ? `${body.length.toString(16)}\r\n${body.toString()}\r\n0\r\n\r\n` : body;
  const { text } = await rawExchange({ port, writes: [`${head}\r\n\r\n`, sent], timeoutMs: 5000 });
  if (each.refuses === true) await c.listen();
  const { attempts = [] } = (await gateway.trace(id)) as unknown as {
    attempts?: readonly Readonly<Record<string, unknown>>[];
  };
  const ledger = await gateway.eventsOf('acme', id);
  const plain = (line: string): string => line.replaceAll(id, 'ID');
  return {
    client: text
      .split('\r\n')
      .filter((line) => !/^(date|x-envoy-upstream-service-time):/.test(line))
      .map(plain),
    backend: upstreams.flatMap(({ requests }) => requests.map((request) => shownOf(request, plain))),
    attempts: attempts.map(({ started_ms: _started, first_byte_ms: _firstByte, ...rest }) => rest),
    ledger: ledger.map(
      ({ time: _time, firstTokenMs: _first, totalMs: _total, requestId: _id, operation: _op, ...rest }) => rest,
    ),
    streams: (await attemptStreams()) - streams,
  };
}

/** Head and body of a request as they came; the order of the lines is not compared. */
function shownOf({ method, path, headers, rawBody }: MockRequest, plain: (line: string) => string): object {
  const lines = headers.map(([name, value]) => plain(`${name.toLowerCase()}: ${value}`)).toSorted();
  return { method, path, headers: lines, body: plain(rawBody.toString('latin1')) };
}

async function attemptStreams(): Promise<number> {
  const stats = await gateway.envoyStats('attempt.*streams_started');
  return Object.values(stats).reduce((sum, value) => sum + value, 0);
}

/** Envoy's routes as an earlier version would have rendered them. */
async function withoutRoute(): Promise<void> {
  const file = join(gateway.dir, 'envoy', 'routes.yaml');
  const routes = parse(readFileSync(file, 'utf8')) as {
    readonly resources: readonly {
      readonly virtual_hosts: readonly { routes: readonly { readonly name: string }[] }[];
    }[];
  };
  const loads = async (): Promise<number> =>
    Object.values(await gateway.envoyStats('rds.*config_reload$')).reduce((sum, value) => sum + value, 0);
  const before = await loads();
  const [host] = routes.resources[0]?.virtual_hosts ?? [];
  assert.ok(host);
  host.routes = host.routes.filter(({ name }) => name !== 'direct');
  assert.equal(host.routes.length, 3);
  writeFileSync(`${file}.new`, JSON.stringify(routes));
  renameSync(`${file}.new`, file);
  await waitUntil(async () => (await loads()) > before, { timeoutMs: 5000 });
}

function withTrailers(trailers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(gateway.origin);
    const stream = session.request(
      {
        ':method': 'POST',
        ':path': '/v1/chat/completions',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.on('response', (head) => resolve(Number(head[':status'])));
    stream.on('error', reject);
    stream.on('close', () => session.close());
    stream.resume();
    stream.end(JSON.stringify(question('plain')));
  });
}
