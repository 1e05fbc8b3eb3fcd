import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { MockRequest } from '../support/mock-upstream.ts';
import { chatClient, question } from './chat-client.ts';
import { chatCompletion, errorAnswer, event, streamAnswer, wholeAnswer } from './openai-answers.ts';
import { rawExchange } from './raw-exchange.ts';
import { useGateway } from '../support/use-gateway.ts';

const KEY_A = 'sk-key-of-a-0123456789';
const KEY_B = 'sk-key-of-b-0123456789';
const KEY_C = 'key-of-c-0123456789';
const FORGED = 'forged-by-a-client';

/** Headers that only the gateway may say: identity, plan, and Envoy's own. */
const INTERNAL = [
  'x-tokenlat-affinity',
  'x-tokenlat-watch',
  'x-tokenlat-local',
  'x-tokenlat-model',
  'x-tokenlat-backend',
  'x-tokenlat-tenant',
  'x-tokenlat-anything',
  'x-envoy-max-retries',
  'x-envoy-retry-on',
  'x-envoy-retry-grpc-on',
  'x-envoy-retriable-status-codes',
  'x-envoy-retriable-header-names',
  'x-envoy-upstream-rq-timeout-ms',
  'x-envoy-upstream-rq-per-try-timeout-ms',
  'x-envoy-upstream-alt-stat-name',
  'x-envoy-hedge-on-per-try-timeout',
  'x-envoy-decorator-operation',
  'x-envoy-original-path',
  'x-envoy-original-method',
  'x-envoy-original-dst-host',
  'x-envoy-internal',
  'x-envoy-external-address',
  'x-envoy-force-trace',
  'x-envoy-peer-metadata',
  'x-envoy-attempt-count',
  'x-envoy-expected-rq-timeout-ms',
];

/** Headers of clients that carry secrets or steer us: no model server shall see them. */
const CLIENT_ONLY: readonly (readonly [name: string, value: string])[] = [
  ['proxy-authorization', FORGED],
  ['x-api-key', FORGED],
  ['api-key', FORGED],
  ['x-goog-api-key', FORGED],
  ['cookie', FORGED],
  ['x-forwarded-for', FORGED],
  ['x-forwarded-host', FORGED],
  ['x-forwarded-proto', FORGED],
  ['x-real-ip', FORGED],
  ['x-app-id', FORGED],
  ['x-user-level', FORGED],
  ['x-business-line', FORGED],
  ['x-session-id', FORGED],
  ['x-gateway-destination-endpoint', FORGED],
  ['x-gateway-destination-endpoint-subset', FORGED],
  ['x-request-priority', 'batch'],
  ['grpc-timeout', FORGED],
];

const {
  gateway,
  upstreams: [a, b, c],
} = await useGateway({
  config: ([a, b, c]) => ({
    backends: [
      {
        name: 'a',
        endpoints: [{ url: `${a.url}/v1` }],
        credentials: { header: 'authorization', value: `Bearer ${KEY_A}` },
        headers: { 'x-org': 'org-of-a' },
      },
      { name: 'b', endpoints: [{ url: `${b.url}/v1` }], credentials: { header: 'x-api-key', value: KEY_B } },
      {
        name: 'c',
        endpoints: [{ url: `${c.url}/v1` }],
        credentials: [{ header: 'authorization', value: `Bearer ${KEY_C}` }],
      },
      { name: 'open', endpoints: [{ url: `${c.url}/v1` }] },
    ],
    models: [
      { name: 'm', deployments: [{ backend: 'a' }] },
      { name: 'chain', deployments: [{ backend: 'a' }, { backend: 'b' }, { backend: 'c' }] },
      { name: 'to-open', deployments: [{ backend: 'a' }, { backend: 'b' }, { backend: 'open' }] },
      { name: 'open', deployments: [{ backend: 'open' }] },
    ],
    retry: { base: '5ms', max: '10ms', retry_after_cap: '50ms' },
  }),
});
const token = await gateway.token();
const port = Number(new URL(gateway.url).port);
beforeEach(() => {
  for (const mock of [a, b, c]) {
    mock.clear();
    mock.respondWith(wholeAnswer());
  }
});

describe('headers of the gateway sent by a client (P24)', () => {
  const spellings: Readonly<Record<string, (name: string) => readonly string[]>> = {
    'lower case': (name) => [`${name}: ${FORGED}`],
    'upper case': (name) => [`${name.toUpperCase()}: ${FORGED}`],
    twice: (name) => [`${name}: ${FORGED}`, `${name}: ${FORGED}-2`],
    'with a space after the value': (name) => [`${name}: ${FORGED} \t`],
    'named in connection': (name) => [`${name}: ${FORGED}`, `connection: ${name}`],
    'with a number': (name) => [`${name}: 1`],
    empty: (name) => [`${name}:`],
  };
  for (const [spelling, lines] of Object.entries(spellings)) {
    test(spelling, async () => {
      for (const name of INTERNAL) {
        a.requests.length = 0;
        const answer = await chat(lines(name));
        assert.equal(answer.status, 200, `${name}: ${answer.text.slice(0, 200)}`);
        assert.equal(a.requests.length, 1, `${name} changed how often the backend is asked`);
        assertUnseen(a.requests[0], name);
      }
    });
  }

  for (const [spelling, line] of [
    ['an underscore', (name: string) => `${name.replaceAll('-', '_')}: ${FORGED}`],
    ['a space before the colon', (name: string) => `${name} : ${FORGED}`],
  ] as const) {
    test(`${spelling} is refused`, async () => {
      for (const name of ['x-tokenlat-watch', 'x-envoy-max-retries']) {
        const answer = await chat([line(name)]);
        assert.equal(answer.status, 400, answer.text.slice(0, 200));
        assert.equal((JSON.parse(answer.body) as { error: { code: string } }).error.code, 'invalid_header');
      }
      assert.equal(a.requests.length, 0);
    });
  }

  test('in trailers', async () => {
    const body = Buffer.from(JSON.stringify(question('m')));
    for (const name of [...INTERNAL.slice(0, 10), 'authorization', 'content-length', 'host']) {
      a.requests.length = 0;
      const answer = await rawExchange({
        port,
        writes: [
          head(['transfer-encoding: chunked', `trailer: ${name}`]),
          `${body.length.toString(16)}\r\n`,
          body,
          `\r\n0\r\n${name}: ${FORGED}\r\n\r\n`,
        ],
      });
      assert.ok([200, 400].includes(answer.status), `${name}: ${answer.text.slice(0, 200)}`);
      // Some of these the gateway sets itself.
      const own = ['authorization', 'host', 'content-length'].includes(name);
      for (const request of a.requests) assertUnseen(request, own ? 'x-none' : name);
      assert.equal(a.requests.length, answer.status === 200 ? 1 : 0);
    }
  });

  test('a client cannot choose retries, timeouts or what is watched', async () => {
    a.respondWith(errorAnswer(400));
    await chat([
      'x-envoy-retry-on: retriable-4xx,5xx',
      'x-envoy-max-retries: 9',
      'x-envoy-retriable-status-codes: 400',
    ]);
    assert.equal(a.requests.length, 1);
  });
});

describe('what a client sends reaches no model server', () => {
  test('secrets and steering headers', async () => {
    for (const [name, value] of CLIENT_ONLY) {
      a.requests.length = 0;
      const answer = await chat([`${name}: ${value}`]);
      assert.equal(answer.status, 200, `${name}: ${answer.text.slice(0, 200)}`);
      assertUnseen(a.requests[0], name);
    }
  });

  test('a priority that is none is refused, and a backend is not asked', async () => {
    a.requests.length = 0;
    const answer = await chat([`x-request-priority: ${FORGED}`]);
    assert.equal(answer.status, 400, answer.text.slice(0, 200));
    assert.equal((JSON.parse(answer.body) as { error: { code: string } }).error.code, 'invalid_header');
    assert.equal(a.requests.length, 0);
  });

  test('its token, also where the backend has no key of its own', async () => {
    for (const model of ['m', 'chain', 'open']) {
      const reply = await chatClient(gateway, token)(question(model));
      assert.equal(reply.status, 200, reply.text);
    }
    for (const request of [...a.requests, ...b.requests, ...c.requests]) {
      assert.ok(!wire(request).includes(token), 'the token travels on');
    }
    assert.equal(c.requests.at(-1)?.header('authorization'), undefined);
  });

  test('two credentials are one too many', async () => {
    const answer = await chat([`authorization: Bearer ${token}`]);
    assert.equal(answer.status, 401, answer.text.slice(0, 200));
    assert.equal(a.requests.length, 0);
  });

  test('a place or a key to send to, in the body', async () => {
    for (const extra of [
      { api_base: c.url, base_url: c.url, api_key: 'x' },
      { metadata: { api_base: c.url } },
      { extra_body: { api_base: c.url, headers: { authorization: 'x' } } },
    ]) {
      await chatClient(gateway, token)(question('m', extra));
      assert.equal(c.requests.length, 0, "a client's URL was called");
    }
    assert.ok(a.requests.every((request) => request.header('authorization') === `Bearer ${KEY_A}`));
  });
});

describe("a backend's key stays with it (P49)", () => {
  for (const stream of [false, true]) {
    for (const [model, last] of [
      ['chain', 'c'],
      ['to-open', 'open'],
    ] as const) {
      test(`over three tries to ${last}, ${stream ? 'as a stream' : 'plain'}`, async () => {
        a.respondWith(errorAnswer(503));
        b.respondWith(
          stream
            ? {
                status: 200,
                headers: { 'content-type': 'text/event-stream' },
                chunks: [event({ error: { message: 'x', type: 'server_error' } })],
              }
            : errorAnswer(429),
        );
        c.respondWith(stream ? streamAnswer() : wholeAnswer());
        const reply = await chatClient(gateway, token)(question(model, { stream }));
        assert.equal(reply.status, 200, reply.text);
        assert.deepEqual(
          [a, b, c].map((mock) => mock.requests.length),
          [1, 1, 1],
        );
        assertKeys(last === 'c' ? KEY_C : null);
      });
    }
  }

  test('when connections break', async () => {
    a.respondWith({ close_after_request: 'rst' });
    b.respondWith({ close_after_request: 'fin' });
    const reply = await chatClient(gateway, token)(question('chain'));
    assert.equal(reply.status, 200, reply.text);
    assertKeys(KEY_C);
  });
});

describe('line breaks and control characters', () => {
  test('in a header: refused, or taken out', async () => {
    for (const value of ['a\rb', 'a\r\r\nx-b: c', 'a\u0000b', 'a\nb', 'a\n x-b: c', 'a\u001bb', 'a\u007fb']) {
      a.requests.length = 0;
      const answer = await chat([`x-custom: ${value}`]);
      assert.ok([200, 400].includes(answer.status), `${JSON.stringify(value)}: ${answer.text.slice(0, 100)}`);
      assert.equal(a.requests.length, answer.status === 200 ? 1 : 0);
      for (const [name, text] of a.requests[0]?.headers ?? []) {
        assert.match(`${name}: ${text}`, /^[\x20-\x7e]*$/, `from ${JSON.stringify(value)}`);
      }
      if (value.includes('\u0000')) assert.equal(answer.status, 400);
    }
  });

  test('in model, user and ids: no extra header, no extra line', async () => {
    const nasty = [
      'x\r\nset-cookie: evil=1',
      'x\nevil',
      'x\u0000y',
      '\u2028\u2029',
      'x\u001b[31m',
      '日本語',
      '"><script>',
      'x'.repeat(5000),
    ];
    const send = chatClient(gateway, token);
    for (const value of nasty) {
      for (const body of [
        question(value),
        question('m', { user: value }),
        question('m', { stop: [value], metadata: { tag: value } }),
      ]) {
        const reply = await send(body);
        assert.ok(
          [200, 400, 403, 404].includes(reply.status),
          `${JSON.stringify(value.slice(0, 30))}: ${reply.text.slice(0, 200)}`,
        );
        assert.equal(reply.headers.get('set-cookie'), null);
        for (const [name, header] of reply.headers) {
          assert.match(header, /^[\x20-\x7e]{0,1024}$/, `${name} holds what is not visible ASCII`);
        }
      }
    }
    // Each line of the log is one JSON object: `log` throws on anything else.
    assert.ok(gateway.log().length > 0);
  });

  test('x-request-id: an id that is not fit is replaced', async () => {
    for (const [id, kept] of [
      ['abc-123', true],
      ['a'.repeat(128), true],
      ['a'.repeat(129), false],
      ['with space', false],
      ['semi;colon', false],
      ['<script>', false],
    ] as const) {
      const answer = await chat([`x-request-id: ${id}`]);
      assert.equal(answer.status, 200);
      const shown = /\r\nx-request-id: ([^\r]*)\r\n/i.exec(answer.text)?.[1] ?? '';
      assert.equal(shown === id, kept, `${id.slice(0, 20)} -> ${shown}`);
      assert.match(shown, /^[\w.:+/=@-]{1,128}$/);
    }
  });

  test("an upstream's headers: what is not on the list stays with us", async () => {
    a.respondWith({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'set-cookie': 'session=evil',
        'access-control-allow-origin': '*',
        'x-tokenlat-model': 'fake',
        'x-tokenlat-backend': 'fake',
        'x-ratelimit-remaining-tokens': '999',
        'x-request-cost': '-5',
        server: 'secret-server/1.0',
        'x-request-id': 'fake-id',
        location: 'http://evil',
        'x-error-source': 'gateway',
      },
      chunks: [JSON.stringify(chatCompletion(5))],
    });
    const reply = await chatClient(gateway, token)(question('m'));
    assert.equal(reply.status, 200, reply.text);
    for (const name of [
      'set-cookie',
      'access-control-allow-origin',
      'location',
      'x-error-source',
      'x-ratelimit-remaining-tokens',
    ]) {
      assert.equal(reply.headers.get(name), null, name);
    }
    assert.equal(reply.headers.get('x-tokenlat-model'), 'm');
    assert.equal(reply.headers.get('x-tokenlat-backend'), 'a');
    assert.equal(reply.headers.get('x-request-id'), reply.requestId);
    assert.notEqual(reply.headers.get('x-request-cost'), '-5');
    assert.doesNotMatch(reply.headers.get('server') ?? '', /secret/);
  });
});

function assertKeys(lastKey: string | null): void {
  const [toA, toB, toC] = [a, b, c].map((mock) => mock.requests.map(wire).join('\n'));
  assert.ok(toA?.includes(KEY_A) && !toA.includes(KEY_B) && !toA.includes(KEY_C));
  assert.ok(toB?.includes(KEY_B) && !toB.includes(KEY_A) && !toB.includes(KEY_C));
  assert.ok(!toB?.includes('org-of-a'), "a's own header came along");
  assert.ok(!toC?.includes(KEY_A) && !toC?.includes(KEY_B) && !toC?.includes('org-of-a'));
  assert.equal(c.requests[0]?.header('authorization'), lastKey === null ? undefined : `Bearer ${lastKey}`);
  assert.equal(c.requests[0]?.header('x-api-key'), undefined);
  assert.equal(b.requests[0]?.header('authorization'), undefined);
  for (const [mock, name] of [
    [a, 'a'],
    [b, 'b'],
    [c, 'c'],
  ] as const) {
    assert.equal(mock.requests[0]?.header('host'), `127.0.0.1:${mock.port}`, `host of ${name}`);
  }
}

function head(lines: readonly string[]): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');
}

function chat(lines: readonly string[]) {
  const body = JSON.stringify(question('m'));
  return rawExchange({ port, writes: [head([...lines, `content-length: ${body.length}`]) + body] });
}

function wire(request: MockRequest): string {
  return [
    `${request.method} ${request.path}`,
    ...request.headers.map(([name, value]) => `${name}: ${value}`),
    request.rawBody.toString(),
  ].join('\n');
}

/** The backend saw neither the forged value nor, for what is not ours, the header. */
function assertUnseen(request: MockRequest | undefined, name: string): void {
  assert.ok(request !== undefined, `${name}: no request came`);
  assert.ok(!wire(request).includes(FORGED), `${name} reached the backend:\n${wire(request)}`);
  const kept = request.headers.filter(([one]) => /^x-(?:tokenlat|envoy)-/i.test(one));
  assert.deepEqual(kept, [], 'headers of the proxy at the backend');
  assert.equal(request.header(name), undefined, `${name} reached the backend`);
}
