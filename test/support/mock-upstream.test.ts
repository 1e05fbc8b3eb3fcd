import assert from 'node:assert/strict';
import net from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import type { UpstreamScript } from './upstream-script.ts';

async function mock(t: TestContext): Promise<MockUpstream> {
  const upstream = await startMockUpstream();
  t.after(() => upstream.close());
  return upstream;
}

/** Speaks raw, and gives back all that came until the connection closed or was silent for a while. */
async function talk(port: number, text: string, silenceMs = 60): Promise<string> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
  let got = '';
  let last = performance.now();
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
    last = performance.now();
  });
  socket.write(text);
  // The first byte may take longer where the machine is busy.
  const patience = (): number => (got === '' ? Math.max(1000, silenceMs) : silenceMs);
  while (!socket.destroyed && performance.now() - last < patience()) await sleep(5);
  socket.destroy();
  return got;
}

test('what came is kept raw: header case, order, duplicates, body bytes', async (t) => {
  const upstream = await mock(t);
  upstream.respondWith({ status: 200, headers: { 'content-type': 'application/json' }, chunks: ['{"a":', '1}'] });
  const got = await talk(
    upstream.port,
    'POST /v1/x?y=1 HTTP/1.1\r\nHost: a\r\nX-B: 1\r\nx-b:  2\r\ncontent-length: 7\r\n\r\n{"ß":1}'.replace('7', '8'),
  );
  assert.equal(got, 'HTTP/1.1 200 Scripted\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}');
  const [request] = upstream.requests;
  assert.deepEqual([request?.method, request?.path, request?.json], ['POST', '/v1/x?y=1', { ß: 1 }]);
  assert.deepEqual(request?.headers.slice(0, 3), [
    ['Host', 'a'],
    ['X-B', '1'],
    ['x-b', '2'],
  ]);
  assert.equal(request?.header('x-B'), '1');
  assert.equal(request?.sentAt.length, 2);
  assert.notEqual(request?.endedAt, null);
});

test('an event stream goes out in the HTTP chunks of the script, with its pauses and marks', async (t) => {
  const upstream = await mock(t);
  const chunks = [
    'data: a',
    '\n\n',
    { delay_ms: 50 },
    { mark: 'late' },
    { base64: 'w58=' },
    { repeat: ['ab', 3] as const, split_every: 4 },
  ];
  upstream.respondWith({ status: 200, headers: { 'Content-Type': 'text/event-stream' }, chunks });
  const got = await talk(upstream.port, 'GET / HTTP/1.1\r\n\r\n', 150);
  const body = got.slice(got.indexOf('\r\n\r\n') + 4);
  assert.match(got, /transfer-encoding: chunked/);
  assert.equal(body, '7\r\ndata: a\r\n2\r\n\n\n\r\n2\r\n\xc3\x9f\r\n4\r\nabab\r\n2\r\nab\r\n0\r\n\r\n');
  const [request] = upstream.requests;
  const [, second = 0, third = 0] = request?.sentAt ?? [];
  assert.ok(third - second >= 45);
  assert.ok((request?.marks.get('late') ?? 0) > second);
  assert.equal(upstream.sentAt.length, 5);
});

test('requests one after the other on a connection, chunked bodies, and expectations', async (t) => {
  const upstream = await mock(t);
  upstream.respondWith([
    { status: 200, chunks: ['one'] },
    { status: 404, chunks: ['two'] },
  ]);
  const post =
    'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n';
  const got = await talk(upstream.port, post + post);
  assert.equal(got.split('HTTP/1.1 100 Continue').length, 3);
  assert.match(got, /one.*404.*two$/s);
  assert.deepEqual(
    upstream.requests.map(({ rawBody }) => rawBody.toString()),
    ['abcd', 'abcd'],
  );
  assert.deepEqual(
    upstream.requests.map(({ connection }) => connection),
    [1, 1],
  );
  await talk(upstream.port, 'GET /health HTTP/1.1\r\n\r\n');
  assert.equal(upstream.requests.length, 2);
});

const say = (text: string): UpstreamScript => ({ status: 200, chunks: [text] });

test('a list of answers stays at its last; the queue comes first; a function sees the request', async (t) => {
  const upstream = await mock(t);
  const ask = async (): Promise<string> => (await fetch(`${upstream.url}/p`)).text();
  upstream.respondWith([say('a'), say('b')]);
  upstream.queue(say('q'));
  assert.deepEqual([await ask(), await ask(), await ask(), await ask()], ['q', 'a', 'b', 'b']);
  upstream.respondWith(async (request) => say(request.path));
  assert.equal(await ask(), '/p');
  upstream.clear();
  assert.deepEqual([upstream.requests.length, (await fetch(upstream.url)).status], [0, 599]);
});

test('every way to fail: cut after bytes, orderly early end, close after the request, silence, refusal', async (t) => {
  const upstream = await mock(t);
  const get = 'GET / HTTP/1.1\r\n\r\n';
  upstream.respondWith({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: ['a', { abort: true }, 'b'],
  });
  await assert.rejects(async () => (await fetch(upstream.url)).text());
  assert.match(await talk(upstream.port, get), /1\r\na\r\n$/);
  upstream.respondWith({ status: 200, headers: { 'content-length': '9' }, chunks: ['abc', { close: true }] });
  assert.match(await talk(upstream.port, get), /content-length: 9\r\n\r\nabc$/);
  for (const how of ['fin', 'rst', true] as const) {
    upstream.respondWith({ close_after_request: how });
    assert.equal(await talk(upstream.port, get), '');
  }
  assert.equal(upstream.requests.at(-1)?.abortedAt, null);
  upstream.respondWith({ hang: true });
  assert.equal(await talk(upstream.port, get), '');
  await sleep(20);
  assert.notEqual(upstream.requests.at(-1)?.abortedAt, null);
  await upstream.refuse();
  await assert.rejects(fetch(upstream.url));
  await upstream.listen();
  upstream.respondWith({ status: 204 });
  assert.equal((await fetch(upstream.url)).status, 204);
});

test('a client that leaves while an answer is under way is seen', async (t) => {
  const upstream = await mock(t);
  const chunks = Array.from({ length: 50 }, () => ['x', { delay_ms: 20 }]).flat();
  upstream.respondWith({ status: 200, headers: { 'content-type': 'text/event-stream' }, chunks });
  const leave = new AbortController();
  const response = await fetch(upstream.url, { signal: leave.signal });
  await upstream.waitForRequests(1);
  await response.body?.getReader().read();
  leave.abort();
  await sleep(80);
  assert.notEqual(upstream.requests[0]?.abortedAt, null);
  assert.ok((upstream.requests[0]?.sentAt.length ?? 50) < 20);
  await assert.rejects(upstream.waitForRequests(2, 20), /1 of 2 requests/);
});

test('a misspelt step is an error, not nothing', async (t) => {
  const upstream = await mock(t);
  upstream.respondWith({ status: 200, chunks: [{ dely_ms: 5 } as never] });
  await assert.rejects(fetch(upstream.url));
});
