import assert from 'node:assert/strict';
import net, { type AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { readEvents } from './event-stream.ts';
import { HttpAnswer } from './http-answer.ts';
import { sendRequest } from './send-request.ts';

let server: MockUpstream;
before(async () => {
  server = await startMockUpstream();
});
after(() => server.close());
beforeEach(() => server.clear());

const post = { method: 'POST', path: '/x', headers: [['X-Odd-Case', 'yes']], body: Buffer.from('{"a":1}') } as const;
const textOf = (pieces: readonly { readonly bytes: Buffer }[]): string =>
  Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();

test('headers keep their spelling, the body its bytes', async () => {
  server.respondWith({ status: 201, headers: { 'x-a': '1' }, chunks: ['hello'] });
  const answer = await sendRequest({ ...post, port: server.port });
  assert.deepEqual([answer.status, answer.end, textOf(answer.pieces)], [201, 'whole', 'hello']);
  const [request] = server.requests;
  assert.deepEqual(
    request?.headers.filter(([name]) => name !== 'host'),
    [
      ['X-Odd-Case', 'yes'],
      ['content-length', '7'],
    ],
  );
  assert.deepEqual(request?.json, { a: 1 });
});

test('a body in pieces goes out chunked', async () => {
  server.respondWith({ status: 200, chunks: [] });
  await sendRequest({ ...post, port: server.port, pieces: [Buffer.from('{"a"'), Buffer.from(':1}')] });
  assert.equal(server.requests[0]?.header('transfer-encoding'), 'chunked');
  assert.deepEqual(server.requests[0]?.json, { a: 1 });
});

test('leaves after so many events, and the server sees it', async () => {
  server.respondWith({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: ['data: 1\n\n', 'data: 2\n\n', { delay_ms: 400 }, 'data: 3\n\n'],
  });
  const answer = await sendRequest({ ...post, port: server.port, abortAfterEvents: 2 });
  assert.equal(answer.end, 'aborted');
  assert.equal(readEvents(answer.pieces).length, 2);
  await sleep(50);
  assert.notEqual(server.requests[0]?.abortedAt, null);
});

test('an answer that is cut is no whole one', async () => {
  server.respondWith({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: ['data: 1\n\n', { abort: true }],
  });
  const answer = await sendRequest({ ...post, port: server.port });
  assert.deepEqual([answer.status, answer.end], [200, 'cut']);
});

test('no answer at all is an error', async () => {
  server.respondWith({ close_after_request: 'fin' });
  await assert.rejects(sendRequest({ ...post, port: server.port }));
});

test('waits for an interim answer before the body', async () => {
  const heard: string[] = [];
  const strict = net.createServer((socket) => {
    socket.on('data', (data: Buffer) => {
      heard.push(data.toString());
      if (heard.length === 1) setTimeout(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 40);
      else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve));
  const { port } = strict.address() as AddressInfo;
  const answer = await sendRequest({ ...post, port, waitForContinueMs: 3000 });
  strict.close();
  assert.deepEqual(
    answer.interim.map(({ status }) => status),
    [100],
  );
  assert.equal(answer.status, 200);
  assert.equal(heard[0]?.includes('{"a":1}'), false);
  assert.equal(heard[1], '{"a":1}');
});

test('an answer cut anywhere reads the same', () => {
  const whole =
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: 1\r\n\r\n';
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const answer = new HttpAnswer();
    answer.push(Buffer.from(whole.slice(0, cut)), 1);
    answer.push(Buffer.from(whole.slice(cut)), 2);
    assert.equal(answer.done, true, String(cut));
    assert.equal(textOf(answer.pieces), 'abcde', String(cut));
  }
});

test('events by any line end, cut anywhere', () => {
  const bytes = Buffer.from(
    ': c\n\ndata: a\r\r\ndata:b\ndata: c\r\n\r\nid: 7\n\nevent: x\ndata\n\ndata: ü\u2028\n\ndata: open',
  );
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const events = readEvents([
      { at: 1, bytes: bytes.subarray(0, cut) },
      { at: 2, bytes: bytes.subarray(cut) },
    ]);
    assert.deepEqual(
      events.map(({ data }) => data),
      ['a', 'b\nc', null, '', 'ü\u2028'],
    );
  }
  assert.equal(
    readEvents([
      { at: 1, bytes: Buffer.from('data: a\n') },
      { at: 2, bytes: Buffer.from('\ndata: b\n\n') },
    ])[1]?.at,
    2,
  );
});
