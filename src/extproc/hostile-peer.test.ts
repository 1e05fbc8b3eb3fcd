import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { test } from 'node:test';
import { duplexModes, ExtProcClient, goodCall, headersOf, soonestCall } from '../../test/support/ext-proc-client.ts';
import { referenceProcess } from '../../test/support/ext-proc-reference.ts';
import { GRPC_ENGINES, passing, testServer } from '../../test/support/ext-proc-server.ts';
import { frame, RAW_CALLS, type RawCall } from '../../test/support/raw-grpc-frames.ts';

const PATH = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function rawCall(session: http2.ClientHttp2Session, { headers, body }: RawCall): Promise<void> {
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
      'tokenlat-level': 'request',
      ...headers,
    });
    const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), 400);
    stream.on('error', () => {});
    stream.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
    stream.resume();
    stream.end(body);
  });
}

for (const grpc of GRPC_ENGINES) {
  test(`${grpc}: no single call ends the process, leaks an exchange or slows the next one`, async () => {
    const uncaught: unknown[] = [];
    const note = (reason: unknown): void => {
      uncaught.push(reason);
    };
    process.on('uncaughtException', note);
    process.on('unhandledRejection', note);
    const { factory, open } = passing();
    const server = await testServer({ grpc, requestFactory: factory });
    const client = new ExtProcClient(server.address());
    try {
      await goodCall(client);
      for (const call of RAW_CALLS) {
        for (let round = 0; round < 2; round++) {
          const session = http2.connect(`http://${server.address()}`);
          session.on('error', () => {});
          await Promise.all([rawCall(session, call), rawCall(session, call)]);
          session.destroy();
        }
        const took = await soonestCall(client, 50);
        assert.ok(took < 50, `${call.name}: the next good call took ${took} ms`);
      }
      for (let i = 0; i < 50 && open() > 0; i++) await sleep(10);
      assert.equal(open(), 0);
      assert.deepEqual(uncaught, []);
    } finally {
      process.off('uncaughtException', note);
      process.off('unhandledRejection', note);
      client.close();
      await server.drain(500);
    }
  });

  test(`${grpc}: streams that are opened and reset at once leave nothing behind`, async () => {
    const { factory, open } = passing();
    const server = await testServer({
      grpc,
      requestFactory: factory,
      limits: { messageBytes: 1 << 20, streams: 1000 },
    });
    const client = new ExtProcClient(server.address());
    try {
      await goodCall(client);
      for (let round = 0; round < 10; round++) {
        const calls = Array.from({ length: 50 }, () => client.open());
        for (const [index, call] of calls.entries()) {
          call.write({ request_headers: { headers: headersOf({ ':method': 'POST' }) }, protocol_config: duplexModes });
          setTimeout(() => call.cancel(), index % 7);
        }
        await sleep(15);
      }
      for (let i = 0; i < 100 && open() > 0; i++) await sleep(10);
      assert.equal(open(), 0);
      await goodCall(client);
    } finally {
      client.close();
      await server.drain(500);
    }
  });

  test(`${grpc}: a peer that reads nothing costs a bounded piece of memory`, async () => {
    let made = 0;
    const chunk = Buffer.alloc(60_000, 'x');
    const server = await testServer({
      grpc,
      requestFactory: () => ({
        onRequestHead: () => ({ kind: 'forward', mutation: {} }),
        onRequestBody: () => ({ kind: 'hold' }),
        onResponseHead: () => ({ kind: 'send', chunks: [], end: false }),
        onResponseBody: () => {
          made++;
          return { kind: 'send', chunks: [chunk, chunk, chunk, chunk], end: false };
        },
        close: () => {},
      }),
    });
    const client = new ExtProcClient(server.address());
    const session = http2.connect(`http://${server.address()}`);
    session.on('error', () => {});
    try {
      const stream = session.request({
        ':method': 'POST',
        ':path': PATH,
        'content-type': 'application/grpc',
        te: 'trailers',
        'tokenlat-level': 'request',
      });
      stream.on('error', () => {});
      const say = (value: object): boolean => stream.write(frame(referenceProcess.requestSerialize(value)));
      say({ request_headers: { headers: headersOf({}), end_of_stream: true }, protocol_config: duplexModes });
      say({ response_headers: { headers: headersOf({ ':status': '200' }) } });
      // Nobody reads the stream: its window of 64 KiB stays as full as it is.
      for (let i = 0; i < 2000; i++) say({ response_body: { body: Buffer.alloc(100) } });
      for (let i = 0; i < 100 && made === 0; i++) await sleep(10);
      await sleep(300);
      assert.ok(made > 0 && made < 60, `${made} of 2000 messages were answered to a peer that reads nothing`);
      await goodCall(client);
      assert.ok((await soonestCall(client, 50)) < 50, 'another stream waits');
    } finally {
      session.destroy();
      client.close();
      await server.drain(500);
    }
  });

  test(`${grpc}: a socket that says nothing more is no call`, async () => {
    const server = await testServer({ grpc });
    const session = http2.connect(`http://${server.address()}`);
    session.on('error', () => {});
    await once(session, 'connect');
    session.destroy();
    await sleep(20);
    for (let i = 0; i < 100 && server.streams() > 0; i++) await sleep(10);
    assert.equal(server.streams(), 0);
    await server.drain(500);
  });
}
