import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHash } from 'node:crypto';
import { TEST_SECRET } from '../support/gateway.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { chatClient, question, type Reply } from './chat-client.ts';
import { expiredToken } from './expired-token.ts';
import { event, streamAnswer, wholeAnswer } from './openai-answers.ts';
import { rawExchange } from './raw-exchange.ts';
import { useGateway } from '../support/use-gateway.ts';

/** What must stand nowhere but on the wire between those who sent it and those whom it is for. */
const CANARY = {
  providerKey: 'sk-canaryProviderKey0123456789abcdef',
  /** Of no known form: only who knows it can find it. */
  opaqueKey: 'a7Qz-canary-0pLm-opaque-Xw93',
  apiKey: 'tl-canaryClientApiKey0123456789abcdef',
  cookie: 'canary-cookie-session-7f3a',
  mail: 'canary.person@example.org',
  card: '4111-1111-1111-canary',
  phone: '+49-170-canary-555',
  prompt: 'canary-prompt-the-secret-recipe',
  system: 'canary-system-prompt-text',
  answer: 'canary-answer-of-the-model',
  tool: 'canary-tool-argument-value',
  query: 'canary-query-token-9c1e',
  password: 'canary-password-in-basic-auth',
  stranger: 'canary-stranger-header-value',
  upstreamEcho: 'canary-upstream-echo-text',
};

const replies: {
  readonly name: string;
  readonly reply: Pick<Reply, 'status' | 'text'> & { readonly headers: string };
}[] = [];
const tokens: string[] = [];

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    auth: {
      api_keys: [{ name: 'ci', tenant: 'acme', sha256: createHash('sha256').update(CANARY.apiKey).digest('hex') }],
    },
    backends: [
      {
        name: 'a',
        endpoints: [{ url: `${upstream.url}/v1` }],
        credentials: { header: 'authorization', value: `Bearer ${CANARY.providerKey}` },
      },
      {
        name: 'o',
        endpoints: [{ url: `${upstream.url}/v1` }],
        credentials: { header: 'x-key', value: CANARY.opaqueKey },
      },
      {
        name: 'v',
        dialect: 'vllm-generate',
        endpoints: [{ url: upstream.url }],
        credentials: { header: 'x-key', value: CANARY.opaqueKey },
      },
    ],
    models: [
      { name: 'm', deployments: [{ backend: 'a' }] },
      { name: 'o', deployments: [{ backend: 'o' }] },
      { name: 'v', deployments: [{ backend: 'v', chat_template: 'chatml' }] },
      { name: 'pair', deployments: [{ backend: 'a' }, { backend: 'v', chat_template: 'chatml' }] },
    ],
    filter: { terms: ['forbidden-term'] },
    retry: { base: '5ms', max: '10ms', retry_after_cap: '20ms' },
    timeouts: { idle: '300ms' },
    telemetry: { log_level: 'debug' },
  }),
});

const secretBody = (model: string, extra: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...question(model),
  messages: [
    { role: 'system', content: CANARY.system },
    { role: 'user', content: `${CANARY.prompt} ${CANARY.mail} ${CANARY.card} ${CANARY.phone}` },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c', type: 'function', function: { name: 'f', arguments: JSON.stringify({ a: CANARY.tool }) } },
      ],
    },
    { role: 'tool', tool_call_id: 'c', content: CANARY.tool },
  ],
  metadata: { note: CANARY.prompt },
  ...extra,
});

/** The key that goes out with a request for a model. */
const KEY_OF = { m: CANARY.providerKey, o: CANARY.opaqueKey, v: CANARY.opaqueKey, pair: CANARY.providerKey };

const JSON_HEAD = { 'content-type': 'application/json' };

/** OpenAI's error object as text. */
function error(message: string, code: string | null = null): string {
  return JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } });
}

/** Good answers, bad ones, and such that repeat the key they were asked with. */
function answersThatQuote(key: string): Readonly<Record<string, UpstreamScript>> {
  return {
    good: wholeAnswer(),
    'echoing error': { status: 400, headers: JSON_HEAD, chunks: [error(`Incorrect API key provided: ${key}`)] },
    'echoing 401': {
      status: 401,
      headers: JSON_HEAD,
      chunks: [error(`Incorrect API key provided: ${key}`, 'invalid_api_key')],
    },
    'echoing detail': {
      status: 422,
      headers: JSON_HEAD,
      chunks: [JSON.stringify({ detail: `the key ${key} is not good` })],
    },
    'echoing flat error': {
      status: 500,
      headers: JSON_HEAD,
      chunks: [JSON.stringify({ error: `the key ${key} is not good` })],
    },
    'echoing text': {
      status: 500,
      headers: { 'content-type': 'text/plain', 'x-debug': key },
      chunks: [`Authorization: Bearer ${key} was refused`],
    },
    'echoing error in a good answer': {
      status: 200,
      headers: JSON_HEAD,
      chunks: [error(`the key ${key} is not good`)],
    },
    'echoing error in a stream': streamAnswer({ thenInstead: [`data: ${error(`key ${key} expired`)}\n\n`] }),
    'echoing error first in a stream': streamAnswer({
      words: 0,
      thenInstead: [`data: ${error(`key ${key} expired`)}\n\n`],
    }),
    garbage: { status: 200, headers: JSON_HEAD, chunks: [`{"choices": ${CANARY.answer}`] },
    stream: streamAnswer({
      thenInstead: [
        event({ choices: [{ index: 0, delta: { content: CANARY.answer }, finish_reason: 'stop' }] }),
        'data: [DONE]\n\n',
      ],
    }),
    'broken stream': streamAnswer({
      thenInstead: [event({ choices: [{ index: 0, delta: { content: CANARY.answer } }] }), { abort: true }],
    }),
    'garbage in a stream': streamAnswer({ thenInstead: [`data: {"choices": ${CANARY.answer}\n\n`] }),
    silence: { hang: true },
    reset: { close_after_request: 'rst' },
  };
}

const HEADERS = { cookie: `session=${CANARY.cookie}`, 'x-stranger': CANARY.stranger, 'x-session-id': CANARY.cookie };

test('requests of every kind are sent', async () => {
  const token = await gateway.token({ email: CANARY.mail });
  const expired = await expiredToken();
  tokens.push(token, expired);
  const send = chatClient(gateway, token);
  const keep = async (name: string, asked: Promise<Reply>): Promise<void> => {
    const reply = await asked;
    replies.push({
      name,
      reply: { status: reply.status, text: reply.text, headers: JSON.stringify([...reply.headers]) },
    });
  };
  for (const [model, key] of Object.entries(KEY_OF)) {
    for (const [name, answer] of Object.entries(answersThatQuote(key))) {
      upstream.clear();
      upstream.respondWith(answer);
      await keep(
        `${name} ${model}`,
        send(secretBody(model, { stream: name.includes('stream') }), { headers: HEADERS }),
      );
    }
  }
  upstream.respondWith(wholeAnswer());
  const bodies: readonly (readonly [name: string, body: unknown, path?: string])[] = [
    ['bad JSON', `{"model":"m","messages":[{"role":"user","content":"${CANARY.prompt}`],
    ['wrong type', { model: 'm', messages: CANARY.prompt }],
    ['wrong role', { model: 'm', messages: [{ role: CANARY.prompt, content: CANARY.mail }] }],
    ['odd value', { ...secretBody('m'), temperature: CANARY.prompt }],
    ['duplicate key', `{"model":"m","model":"m","messages":[{"role":"user","content":"${CANARY.prompt}"}]}`],
    ['no model', { messages: [{ role: 'user', content: CANARY.prompt }] }],
    ['too deep', `{"model":"m","messages":${'['.repeat(100)}"${CANARY.prompt}"${']'.repeat(100)}}`],
    ['filtered', secretBody('m', { messages: [{ role: 'user', content: `forbidden-term ${CANARY.prompt}` }] })],
    ['too long', secretBody('m', { max_tokens: 1_000_000 })],
    ['unknown path', secretBody('m'), `/nope?key=${CANARY.query}`],
    ['a key in the query', secretBody('m'), `/chat/completions?api_key=${CANARY.query}`],
  ];
  for (const [name, body, path] of bodies)
    await keep(name, send(body, { headers: HEADERS, ...(path !== undefined && { path }) }));
  for (const [name, bearer] of [
    ['expired', expired],
    ['bad signature', `${token.slice(0, -8)}AAAAAAAA`],
    ['a provider key as token', CANARY.providerKey],
    ['an API key', CANARY.apiKey],
  ] as const) {
    await keep(name, chatClient(gateway, bearer)(secretBody('m'), { headers: HEADERS }));
    if (name === 'bad signature') tokens.push(bearer);
  }
  await keep(
    'basic auth',
    send(secretBody('m'), {
      headers: { authorization: `Basic ${Buffer.from(`u:${CANARY.password}`).toString('base64')}` },
    }),
  );
  const port = Number(new URL(gateway.url).port);
  for (const [name, bytes] of [
    [
      'a bad head',
      `POST /v1/chat/completions?k=${CANARY.query} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${token}\r\nx_bad: ${CANARY.stranger}\r\n\r\n`,
    ],
    ['a bad path', `POST /v1/chat%2f${CANARY.query} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${token}\r\n\r\n`],
    [
      'a bad length',
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${token}\r\ncookie: ${CANARY.cookie}\r\ncontent-length: x\r\n\r\n`,
    ],
    [
      'large headers',
      `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${token}\r\nx-stranger: ${CANARY.stranger.repeat(4000)}\r\n\r\n`,
    ],
  ] as const) {
    const answer = await rawExchange({ port, writes: [bytes] });
    replies.push({ name, reply: { status: answer.status, text: answer.text, headers: '' } });
  }
  assert.ok(replies.filter(({ reply }) => reply.status === 200).length >= 3);
  assert.ok(replies.filter(({ reply }) => reply.status >= 400).length >= 25);
});

test("the client's answers hold no secret of ours, and errors no prompt", () => {
  const hits: string[] = [];
  for (const { name, reply } of replies) {
    const all = reply.headers + reply.text;
    // What is the client's own question may come back in no error; a model's own words are its answer.
    const forbidden =
      reply.status === 200 ? ['providerKey', 'opaqueKey'] : Object.keys(CANARY).filter((kind) => kind !== 'answer');
    for (const kind of forbidden)
      if (all.includes(CANARY[kind as keyof typeof CANARY])) hits.push(`${name}: ${kind}: ${all.slice(0, 400)}`);
    for (const token of tokens) if (all.includes(token)) hits.push(`${name}: token`);
  }
  assert.deepEqual(hits, []);
});

test('logs hold none', async () => {
  await gateway.ledger('acme', 10);
  const files = filesOf(gateway.dir).filter((file) => file.endsWith('.log'));
  assert.ok(files.some((file) => file.endsWith('tokenlat.log')) && files.some((file) => file.endsWith('envoy.log')));
  for (const file of files) {
    const text = readFileSync(file, 'latin1');
    assert.ok(text.length > 0, file);
    assertNone(text, file);
  }
  assert.ok(
    gateway.log().some((line) => line['level'] === 'debug'),
    'the log is at debug level',
  );
});

test("metrics, readiness, Envoy's statistics and its configuration hold none", async () => {
  for (const url of [
    `${gateway.ops}/metrics`,
    `${gateway.ops}/readyz`,
    `${gateway.ops}/healthz`,
    `${adminOf()}/stats`,
    `${adminOf()}/config_dump`,
    `${adminOf()}/clusters`,
  ]) {
    const response = await fetch(url);
    const text = await response.text();
    assert.ok(text.length > 0 || response.status === 200, url);
    assertNone(text, url);
  }
});

test('traces and the ledger hold none', async () => {
  const events = await gateway.ledger('acme', 10);
  assertNone(JSON.stringify(events), 'ledger');
  const traced = gateway.log().filter((line) => line['msg'] === 'request');
  assert.ok(traced.length > 20);
  for (const line of traced.slice(0, 40))
    assertNone(JSON.stringify(await gateway.trace(String(line['request_id']))), 'trace');
});

test("what is kept on disk beside the operator's own file holds none", () => {
  for (const file of filesOf(gateway.dir)) {
    if (file === gateway.configPath) continue;
    assertNone(readFileSync(file, 'latin1'), file);
  }
});

function assertNone(text: string, where: string): void {
  const kinds = Object.entries(CANARY).filter(([, value]) => text.includes(value));
  const context = kinds.map(
    ([kind, value]) => `${kind}: …${text.slice(Math.max(0, text.indexOf(value) - 150), text.indexOf(value) + 60)}…`,
  );
  assert.deepEqual(context, [], where);
  assert.ok(!text.includes(TEST_SECRET), `${where}: the signing secret`);
  for (const token of tokens) {
    assert.ok(!text.includes(token), `${where}: a token`);
    // Neither a signature on its own, which completes what others may know.
    const signature = token.split('.')[2];
    if (signature !== undefined) assert.ok(!text.includes(signature), `${where}: a signature`);
  }
  const basic = Buffer.from(`u:${CANARY.password}`).toString('base64');
  assert.ok(!text.includes(basic), `${where}: basic credentials`);
}

function adminOf(): string {
  const bootstrap = readFileSync(join(gateway.dir, 'envoy', 'envoy.yaml'), 'utf8');
  return `http://127.0.0.1:${/admin:[^]*?port_value: (\d+)/.exec(bootstrap)?.[1]}`;
}

function filesOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((file) => statSync(file).isFile());
}
