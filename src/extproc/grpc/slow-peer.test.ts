import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { duplexModes, ExtProcClient, goodCall, headersOf, soonestCall } from '../../../test/support/ext-proc-client.ts';
import { referenceProcess } from '../../../test/support/ext-proc-reference.ts';
import { testServer } from '../../../test/support/ext-proc-server.ts';
import { framesOf, GREETING, h2Frame, hpackBlock, uint32 } from '../../../test/support/h2-peer.ts';
import { frame } from '../../../test/support/raw-grpc-frames.ts';
import type { ExtProcServer } from '../server.ts';

const PIECE = 60_000;
const HEAD = hpackBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/envoy.service.ext_proc.v3.ExternalProcessor/Process'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
  ['tokenlat-level', 'request'],
]);
/** As Envoy is told to: windows so large that only the socket holds anything back. */
const WIDE = Buffer.concat([
  GREETING,
  h2Frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(2 ** 28)])),
  h2Frame(8, 0, 0, uint32(2 ** 31 - 1 - 65_535)),
]);

const said = (stream: number, value: object, end = false): Buffer =>
  h2Frame(0, end ? 1 : 0, stream, frame(referenceProcess.requestSerialize(value)));

const opening = (stream: number): Buffer =>
  Buffer.concat([
    h2Frame(1, 4, stream, HEAD),
    said(stream, {
      request_headers: { headers: headersOf({}), end_of_stream: true },
      protocol_config: duplexModes,
    }),
    said(stream, { response_headers: { headers: headersOf({ ':status': '200' }) } }),
  ]);

/** Four pieces for each that comes. */
async function generous(): Promise<{ server: ExtProcServer; socket: Socket; made: () => number }> {
  let made = 0;
  const server = await testServer({
    requestFactory: () => ({
      onRequestHead: () => ({ kind: 'forward', mutation: {} }),
      onRequestBody: () => ({ kind: 'hold' }),
      onResponseHead: () => ({ kind: 'send', chunks: [], end: false }),
      onResponseBody: (chunk, end) => {
        made++;
        return { kind: 'send', chunks: Array.from({ length: 4 }, () => Buffer.alloc(PIECE, chunk[0])), end };
      },
      close: () => {},
    }),
  });
  const socket = connect(Number(server.address().split(':')[1]), '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  return { server, socket, made: () => made };
}

test('a peer that reads nothing from its socket costs a bounded piece of memory, however many streams it has', async () => {
  const { server, socket, made } = await generous();
  const client = new ExtProcClient(server.address());
  await goodCall(client);
  socket.pause();
  socket.write(WIDE);
  const before = process.memoryUsage().rss;
  const streams = Array.from({ length: 50 }, (_, index) => index * 2 + 1);
  for (const stream of streams) socket.write(opening(stream));
  for (let round = 0; round < 100; round++)
    for (const stream of streams) socket.write(said(stream, { response_body: { body: Buffer.alloc(100, 'x') } }));
  for (let i = 0; i < 200 && made() < 50; i++) await sleep(5);
  await sleep(200);
  const asked = made();
  assert.ok(asked >= 50 && asked < 500, `${asked} of 5000 messages were answered to a peer that reads nothing`);
  assert.ok(process.memoryUsage().rss - before < 150e6);
  await goodCall(client);
  assert.ok((await soonestCall(client, 50)) < 50, 'another connection waits');
  socket.destroy();
  client.close();
  await server.drain(500);
});

test('a peer that reads late gets every byte of every stream', async () => {
  const { server, socket, made } = await generous();
  socket.pause();
  socket.write(WIDE);
  const streams = [1, 3, 5, 7];
  const rounds = 12;
  for (const stream of streams) socket.write(opening(stream));
  for (let round = 0; round < rounds; round++)
    for (const stream of streams) {
      const end = round === rounds - 1;
      socket.write(said(stream, { response_body: { body: Buffer.alloc(100, round), end_of_stream: end } }, end));
    }
  await sleep(100);
  assert.ok(made() < streams.length * rounds, 'nothing was held back');
  const parts: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => parts.push(bytes));
  socket.resume();
  const ended = (): number =>
    framesOf(Buffer.concat(parts)).filter(({ type, flags }) => type === 1 && (flags & 1) === 1).length;
  for (let i = 0; i < 400 && ended() < streams.length; i++) await sleep(10);
  const frames = framesOf(Buffer.concat(parts));
  for (const stream of streams) {
    const bytes = Buffer.concat(frames.filter((one) => one.type === 0 && one.stream === stream).map((f) => f.payload));
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const length = bytes.readUInt32BE(at + 1);
      const answer = referenceProcess.responseDeserialize(bytes.subarray(at + 5, at + 5 + length)) as {
        readonly response_body?: { response: { body_mutation: { streamed_response: { body: Buffer } } } };
      };
      const body = answer.response_body?.response.body_mutation.streamed_response.body;
      if (body !== undefined) pieces.push(body);
      at += 5 + length;
    }
    const wanted = Buffer.concat(Array.from({ length: rounds }, (_, round) => Buffer.alloc(4 * PIECE, round)));
    assert.ok(Buffer.concat(pieces).equals(wanted), `stream ${stream}`);
  }
  socket.destroy();
  await server.drain(500);
});
