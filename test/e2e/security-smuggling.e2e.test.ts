import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { question } from './chat-client.ts';
import { hasErrorShape } from './error-shape.ts';
import { wholeAnswer } from './openai-answers.ts';
import { rawExchange } from './raw-exchange.ts';
import { useGateway } from '../support/use-gateway.ts';

const BODY = JSON.stringify(question('m'));

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/base/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a' }] }],
  }),
});
const token = await gateway.token();
const port = Number(new URL(gateway.url).port);
beforeEach(() => {
  upstream.clear();
  upstream.respondWith(wholeAnswer());
});

describe('request smuggling', () => {
  const json = 'content-type: application/json';
  const hidden = (): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\n${auth()}\r\n${json}\r\nx-hidden: yes\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;
  const shapes: readonly (readonly [name: string, bytes: () => string])[] = [
    [
      'content-length and chunked',
      () =>
        `${head([auth(), json, `content-length: ${BODY.length}`, 'transfer-encoding: chunked'])}0\r\n\r\n${hidden()}`,
    ],
    [
      'chunked and content-length',
      () =>
        `${head([auth(), json, 'transfer-encoding: chunked', `content-length: ${BODY.length}`])}0\r\n\r\n${hidden()}`,
    ],
    ['two lengths', () => `${head([auth(), json, 'content-length: 5', `content-length: ${BODY.length}`])}${BODY}`],
    ['a list of lengths', () => `${head([auth(), json, `content-length: ${BODY.length}, 5`])}${BODY}`],
    ['a signed length', () => `${head([auth(), json, `content-length: +${BODY.length}`])}${BODY}`],
    ['a negative length', () => `${head([auth(), json, 'content-length: -1'])}${hidden()}`],
    ['a length in hex', () => `${head([auth(), json, `content-length: 0x${BODY.length.toString(16)}`])}${BODY}`],
    ['an unknown coding', () => `${head([auth(), json, 'transfer-encoding: xchunked'])}0\r\n\r\n${hidden()}`],
    [
      'chunked that is not last',
      () => `${head([auth(), json, 'transfer-encoding: chunked, identity'])}0\r\n\r\n${hidden()}`,
    ],
    ['gzip, chunked', () => `${head([auth(), json, 'transfer-encoding: gzip, chunked'])}0\r\n\r\n${hidden()}`],
    [
      'chunked twice',
      () => `${head([auth(), json, 'transfer-encoding: chunked', 'transfer-encoding: chunked'])}0\r\n\r\n${hidden()}`,
    ],
    ['a space before the colon', () => `${head([auth(), json, 'transfer-encoding : chunked'])}0\r\n\r\n${hidden()}`],
    ['a tab in the coding', () => `${head([auth(), json, 'transfer-encoding: \u000bchunked'])}0\r\n\r\n${hidden()}`],
    ['a folded line', () => `${head([auth(), json, 'transfer-encoding:\r\n chunked'])}0\r\n\r\n${hidden()}`],
    [
      'a chunk size that is none',
      () => `${head([auth(), json, 'transfer-encoding: chunked'])}zz\r\n${BODY}\r\n0\r\n\r\n`,
    ],
    [
      'a chunk size beyond 64 bits',
      () => `${head([auth(), json, 'transfer-encoding: chunked'])}fffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`,
    ],
    [
      'a bare LF after the chunk size',
      () =>
        `${head([auth(), json, 'transfer-encoding: chunked'])}${BODY.length.toString(16)}\n${BODY}\r\n0\r\n\r\n${hidden()}`,
    ],
    [
      'two hosts',
      () =>
        `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nhost: h\r\n${auth()}\r\n${json}\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    ],
    [
      'no host',
      () =>
        `POST /v1/chat/completions HTTP/1.1\r\n${auth()}\r\n${json}\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    ],
    [
      'a space in the path',
      () =>
        `POST /v1/chat/completions x HTTP/1.1\r\nhost: g\r\n${auth()}\r\n${json}\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    ],
    ['a method with a line break', () => `POST\r\n /v1/chat/completions HTTP/1.1\r\nhost: g\r\n${auth()}\r\n\r\n`],
  ];
  for (const [name, bytes] of shapes) {
    test(name, async () => {
      const answer = await rawExchange({ port, writes: [bytes()], timeoutMs: 1500 });
      // Two hosts: none of them counts here. A broken chunk ends the connection without a word.
      const allowed = name === 'two hosts' ? [200, 400] : [400, 501];
      if (answer.status === 0) assert.ok(answer.closed, 'neither an answer nor an end');
      else assert.ok(allowed.includes(answer.status), answer.text.slice(0, 300));
      assert.ok(answer.statuses.length <= 1, `one request, ${answer.statuses.length} answers`);
      assert.equal(upstream.requests.length, answer.status === 200 ? 1 : 0);
      if (answer.status >= 400) {
        assert.ok(hasErrorShape(answer), answer.text);
        assert.match(answer.text, /\r\nconnection: close\r\n/i);
      }
    });
  }

  test('the answer to a pipelined request goes to that request', async () => {
    const one = `${head([auth(), json, 'x-request-id: one', `content-length: ${BODY.length}`])}${BODY}`;
    const two = one.replace('x-request-id: one', 'x-request-id: two');
    const answer = await rawExchange({
      port,
      writes: [one + two],
      until: (text) => (text.match(/HTTP\/1\.1 200/g)?.length ?? 0) === 2,
    });
    assert.deepEqual(answer.statuses, [200, 200]);
    assert.deepEqual(
      [...answer.text.matchAll(/x-request-id: (\w+)/gi)].map((match) => match[1]),
      ['one', 'two'],
    );
  });

  test('the proxy lives', async () => {
    const answer = await rawExchange({
      port,
      writes: [`${head([auth(), json, `content-length: ${BODY.length}`])}${BODY}`],
    });
    assert.equal(answer.status, 200);
  });
});

function auth(): string {
  return `authorization: Bearer ${token}`;
}

function head(lines: readonly string[], method = 'POST'): string {
  return [`${method} /v1/chat/completions HTTP/1.1`, 'host: gateway', ...lines, '', ''].join('\r\n');
}
