import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, test } from 'node:test';
import { question } from './chat-client.ts';
import { hasErrorShape } from './error-shape.ts';
import { wholeAnswer } from './openai-answers.ts';
import { type RawExchange, rawExchange } from './raw-exchange.ts';
import { useGateway } from '../support/use-gateway.ts';

const BODY = JSON.stringify(question('m'));
const BODY_LIMIT = 64 * 1024;

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/base/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a' }] }],
    limits: { body: '64KiB' },
  }),
});
const token = await gateway.token();
const port = Number(new URL(gateway.url).port);
beforeEach(() => {
  upstream.clear();
  upstream.respondWith(wholeAnswer());
});

/** Spellings that are not the path of any endpoint. */
const REFUSED = [
  '/v1%2fchat/completions',
  '/v1%2Fchat%2Fcompletions',
  '/v1/chat%2fcompletions',
  '/v1/chat%5ccompletions',
  '/v1/chat%5Ccompletions',
  '/%2fv1/chat/completions',
  '/v1/chat/completions%2f',
  '/v1/chat/completions%2f..',
  '/v1/x/..%2fchat/completions',
  '/v1/x%2f../chat/completions',
  '/v1/chat/completions/',
  '/v1/chat/completions//',
  '/v1/chat/completions/x',
  '/v1/chat/completions.',
  '/v1/chat/completions;',
  '/v1/chat/completions;jsessionid=1',
  '/v1;/chat/completions',
  '/v1/chat;x=y/completions',
  '/v1/chat/completions%00',
  '/v1/chat/completions%20',
  '/v1/chat/completions%0a',
  '/v1/chat/completions%0d%0aset-cookie:x',
  '/v1/chat/completions%3f',
  '/v1/chat/completions%23',
  '/v1/chat/completions%3b',
  '/V1/chat/completions',
  '/v1/Chat/Completions',
  '/v1/CHAT/COMPLETIONS',
  '/v1/chat/completionS',
  '/v1/chat/completions%252f',
  '/v1%252fchat/completions',
  '/%76%31/chat/completions%2f',
  '/chat/completions',
  '/v2/chat/completions',
  '/v1/chat',
  '/v1',
  '/',
  '/v1/',
  '/v1/completions/chat',
  '/base/v1/chat/completions',
  '/v1/fine_tuning',
  '/v1/files',
  '/v1/batches',
  '/v1/responses',
  '/v1/images/generations',
  '/v1/chat/completions%c0%af',
  '/v1/%c0%ae%c0%ae/chat/completions',
  '/v1/chat/completions\u00a0',
  '/v1/chat/completions\\',
  '/v1/.../chat/completions',
  '/admin',
  '/stats',
  '/quitquitquit',
  '/metrics',
  '/healthz',
  '/../../etc/passwd',
  '*',
  '/v1/chat/completions#x',
  '/v1/chat/completions%2e',
];

/** Spellings that RFC 3986 section 6 and the URL standard make the same path: the proxy makes them so before anybody judges. */
const SAME = [
  '//v1/chat/completions',
  '/v1//chat/completions',
  '/v1/./chat/completions',
  '/v1/x/../chat/completions',
  '/./v1/chat/completions',
  '/v1/%2e/chat/completions',
  '/v1/x/%2e%2e/chat/completions',
  '/v1/chat/completions?',
  '/v1/chat/completions?a=b',
  '/v1/chat/completions?x=/../',
  '/v1/chat/%63ompletions',
  '/%76%31/chat/completions',
  '/v1\\chat\\completions',
];

describe('the path (P31)', () => {
  test(`${REFUSED.length} spellings of no endpoint are refused, and reach no model server`, async () => {
    const wrong: string[] = [];
    for (const path of REFUSED) {
      const answer = await post(path, [`authorization: Bearer ${token}`]);
      // A fine-tuning path is known, and disabled.
      const allowed = path.startsWith('/v1/fine_') ? [405] : [400, 404];
      if (!allowed.includes(answer.status)) wrong.push(`${path} -> ${answer.status}`);
      else if (!hasErrorShape(answer)) wrong.push(`${path} -> ${answer.text.slice(0, 200)}`);
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      upstream.requests.map((request) => request.path),
      [],
    );
  });

  test('no spelling gets past authentication', async () => {
    for (const path of [...SAME, ...REFUSED]) {
      const answer = await post(path, []);
      assert.ok([400, 401, 404].includes(answer.status), `${path} -> ${answer.status}`);
    }
    for (const path of SAME) assert.equal((await post(path, [])).status, 401, path);
    assert.equal(upstream.requests.length, 0);
  });

  test('spellings of the same path are that path, and go out in one form', async () => {
    for (const path of SAME) {
      const answer = await post(path, [`authorization: Bearer ${token}`]);
      assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 200)}`);
    }
    assert.deepEqual([...new Set(upstream.requests.map((request) => request.path))], ['/base/v1/chat/completions']);
  });

  test('the absolute form and a strange host name no other place', async () => {
    for (const [target, host] of [
      [`http://127.0.0.1:${upstream.port}/v1/chat/completions`, 'gateway'],
      ['http://evil.test/v1/chat/completions', 'gateway'],
      ['/v1/chat/completions', 'gateway.'],
      ['/v1/chat/completions', `127.0.0.1:${upstream.port}`],
      ['/v1/chat/completions', 'UPPER.test'],
    ] as const) {
      upstream.requests.length = 0;
      const answer = await post(target, [`authorization: Bearer ${token}`], { host });
      assert.ok([200, 400, 404].includes(answer.status), `${target} ${host}: ${answer.text.slice(0, 200)}`);
      for (const request of upstream.requests) {
        assert.equal(request.path, '/base/v1/chat/completions');
        assert.equal(request.header('host'), `127.0.0.1:${upstream.port}`);
      }
    }
  });

  test('another method is 405, and says which is right', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'post', 'FROBNICATE']) {
      const answer = await rawExchange({
        port,
        writes: [
          `${method} /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`,
        ],
        until: () => false,
      });
      assert.ok([400, 404, 405].includes(answer.status), `${method}: ${answer.text.slice(0, 100)}`);
      if (answer.status === 405) assert.match(answer.text, /\r\nallow: POST\r\n/i);
    }
    assert.equal(upstream.requests.length, 0);
  });
});

describe('what cannot be inspected does not pass (T05)', () => {
  const gzip = gzipSync(BODY);
  const json = 'content-type: application/json';
  const rows: readonly (readonly [name: string, writes: () => (string | Buffer)[], statuses: readonly number[]])[] = [
    [
      'a body over the limit',
      () => [head([auth(), json, `content-length: ${BODY_LIMIT + 1}`]), Buffer.alloc(BODY_LIMIT + 1, 0x20)],
      [413],
    ],
    [
      'a body over the limit, chunked',
      () => [
        head([auth(), json, 'transfer-encoding: chunked']),
        `${(BODY_LIMIT + 1).toString(16)}\r\n`,
        Buffer.alloc(BODY_LIMIT + 1, 0x20),
        '\r\n0\r\n\r\n',
      ],
      [413],
    ],
    ['gzip', () => [head([auth(), json, 'content-encoding: gzip', `content-length: ${gzip.length}`]), gzip], [415]],
    ['gzip that is not said', () => [head([auth(), json, `content-length: ${gzip.length}`]), gzip], [400]],
    [
      'identity, gzip',
      () => [head([auth(), json, 'content-encoding: identity, gzip', `content-length: ${gzip.length}`]), gzip],
      [415],
    ],
    [
      'deflate',
      () => [head([auth(), json, 'content-encoding: deflate', `content-length: ${BODY.length}`]), BODY],
      [415],
    ],
    ['br', () => [head([auth(), json, 'content-encoding: br', `content-length: ${BODY.length}`]), BODY], [415]],
    [
      'multipart',
      () => [head([auth(), 'content-type: multipart/form-data; boundary=x', `content-length: ${BODY.length}`]), BODY],
      [415],
    ],
    [
      'a form',
      () => [head([auth(), 'content-type: application/x-www-form-urlencoded', `content-length: ${BODY.length}`]), BODY],
      [415],
    ],
    [
      'another charset',
      () => [
        head([auth(), 'content-type: application/json; charset=utf-16', `content-length: ${BODY.length * 2}`]),
        Buffer.from(BODY, 'utf16le'),
      ],
      [400, 415],
    ],
    ['GET with a body', () => [head([auth(), json, `content-length: ${BODY.length}`], 'GET'), BODY], [405]],
    ['no body', () => [head([auth(), json])], [400]],
    ['an empty body', () => [head([auth(), json, 'content-length: 0'])], [400]],
    [
      'HTTP/1.0',
      () => [head([auth(), json, `content-length: ${BODY.length}`]).replace('HTTP/1.1', 'HTTP/1.0'), BODY],
      [426],
    ],
    ['HTTP/0.9', () => ['POST /v1/chat/completions\r\n\r\n'], [400, 426]],
    [
      'a WebSocket',
      () => [
        head(
          [
            auth(),
            'connection: Upgrade',
            'upgrade: websocket',
            'sec-websocket-version: 13',
            'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
          ],
          'GET',
        ),
      ],
      [403, 405, 426],
    ],
    [
      'CONNECT',
      () => [`CONNECT 127.0.0.1:${upstream.port} HTTP/1.1\r\nhost: 127.0.0.1:${upstream.port}\r\n${auth()}\r\n\r\n`],
      [400, 403, 404, 405, 426],
    ],
    [
      'a byte order mark',
      () => [head([auth(), json, `content-length: ${BODY.length + 3}`]), Buffer.from([0xef, 0xbb, 0xbf]), BODY],
      [400],
    ],
    [
      'text that is not UTF-8',
      () => {
        const bytes = Buffer.from(BODY.replace('Say', '\u00ff\u00fe\u00fd'), 'latin1');
        return [head([auth(), json, `content-length: ${bytes.length}`]), bytes];
      },
      [400],
    ],
    [
      'the model twice',
      () => {
        const body = '{"model":"m","model":"x","messages":[]}';
        return [head([auth(), json, `content-length: ${body.length}`]), body];
      },
      [400],
    ],
    [
      'the model twice, spelt otherwise',
      () => {
        const body = '{"model":"m","mod\\u0065l":"x","messages":[]}';
        return [head([auth(), json, `content-length: ${body.length}`]), body];
      },
      [400],
    ],
    [
      'two JSON texts',
      () => {
        const body = BODY + BODY;
        return [head([auth(), json, `content-length: ${body.length}`]), body];
      },
      [400],
    ],
  ];
  for (const [name, writes, statuses] of rows) {
    test(name, async () => {
      const answer = await rawExchange({ port, writes: writes() });
      assert.ok(statuses.includes(answer.status), `${answer.status}: ${answer.text.slice(0, 300)}`);
      assert.ok(hasErrorShape(answer), answer.text.slice(0, 400));
      assert.equal(upstream.requests.length, 0);
    });
  }

  test('Expect: 100-continue is answered, and does not travel on', async () => {
    const answer = await rawExchange({
      port,
      writes: [head([auth(), json, 'expect: 100-continue', `content-length: ${BODY.length}`]), BODY],
    });
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    assert.match(answer.text, /^HTTP\/1\.1 100 Continue\r\n/);
    assert.equal(upstream.requests[0]?.header('expect'), undefined);
  });

  test('an upgrade to h2c is passed over', async () => {
    const upgrade = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQAAP__'];
    const answer = await rawExchange({
      port,
      writes: [head([auth(), json, ...upgrade, `content-length: ${BODY.length}`]), BODY],
    });
    assert.ok([200, 400, 403, 426].includes(answer.status), answer.text.slice(0, 300));
    for (const request of upstream.requests) {
      assert.equal(request.header('upgrade'), undefined);
      assert.equal(request.header('http2-settings'), undefined);
    }
  });

  test('trailers of a chunked body do not travel on', async () => {
    const answer = await rawExchange({
      port,
      writes: [
        head([auth(), json, 'transfer-encoding: chunked']),
        `${BODY.length.toString(16)};ext=1\r\n${BODY}\r\n0\r\nx-trailer: evil\r\n\r\n`,
      ],
    });
    assert.ok([200, 400].includes(answer.status), answer.text.slice(0, 300));
    for (const request of upstream.requests) {
      assert.equal(request.header('x-trailer'), undefined);
      assert.equal(request.rawBody.toString(), BODY);
    }
  });

  test('HTTP/2: CONNECT and an extended CONNECT are refused', async () => {
    for (const extra of [{}, { ':protocol': 'websocket', ':scheme': 'http', ':path': '/v1/chat/completions' }]) {
      const status = await new Promise<number>((resolve) => {
        const session = http2.connect(gateway.origin);
        session.on('error', () => resolve(0));
        session.on('remoteSettings', () => {
          try {
            const stream = session.request({
              ':method': 'CONNECT',
              ':authority': 'g',
              authorization: `Bearer ${token}`,
              ...extra,
            });
            stream.on('response', (headers) => resolve(Number(headers[':status'])));
            stream.on('error', () => resolve(0));
          } catch {
            resolve(0);
          }
        });
        session.on('close', () => resolve(0));
        setTimeout(() => session.destroy(), 1000).unref();
      });
      assert.ok(status === 0 || (status >= 400 && status < 500), `status ${status}`);
    }
    assert.equal(upstream.requests.length, 0);
  });
});

function auth(): string {
  return `authorization: Bearer ${token}`;
}

function head(lines: readonly string[], method = 'POST'): string {
  return [`${method} /v1/chat/completions HTTP/1.1`, 'host: gateway', ...lines, '', ''].join('\r\n');
}

function post(path: string, lines: readonly string[], { host = 'gateway' } = {}): Promise<RawExchange> {
  const headers = [
    `POST ${path} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    `content-length: ${BODY.length}`,
    ...lines,
    '',
    '',
  ];
  return rawExchange({ port, writes: [headers.join('\r\n') + BODY] });
}
