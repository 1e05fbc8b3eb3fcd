import assert from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
import http2 from 'node:http2';
import { test } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { frame } from '../../../test/support/raw-grpc-frames.ts';
import { selfSigned } from '../../../test/render/self-signed.ts';
import { anyMethod } from './call.ts';
import { createGrpcJsServer } from './grpc-js-server.ts';
import { createLeanServer } from './lean-server.ts';

const own = selfSigned('worker');
const stranger = selfSigned('stranger');
const echo = anyMethod<Buffer, Buffer>({
  path: '/test.Echo/Call',
  decode: (bytes) => bytes,
  encode: (bytes) => bytes,
  serve: (call) => ({
    onMessage: (message) => call.write(message),
    onEnd: () => call.end(0, ''),
    onDrain: () => {},
    onClose: () => {},
  }),
});

const closed = (one: EventEmitter): Promise<void> => new Promise((resolve) => one.once('close', () => resolve()));

/** What a client gets that shows this certificate: its message back, or null. */
async function ask(port: number, shown: { readonly cert?: string; readonly key?: string }): Promise<string | null> {
  const session = http2.connect(`https://127.0.0.1:${port}`, {
    ...shown,
    ca: own.cert,
    checkServerIdentity: () => undefined,
  });
  session.on('error', () => {});
  const stream = session.request({ ':method': 'POST', ':path': '/test.Echo/Call', 'content-type': 'application/grpc' });
  stream.on('error', () => {});
  const parts: Buffer[] = [];
  stream.on('data', (bytes: Buffer) => parts.push(bytes));
  stream.end(frame(Buffer.from('hello')));
  await closed(stream);
  session.destroy();
  const bytes = Buffer.concat(parts);
  return bytes.length === 0 ? null : bytes.subarray(5).toString();
}

/** Is a client without HTTP/2 let go? */
async function isLetGo(port: number, options: ConnectionOptions): Promise<boolean> {
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    ca: own.cert,
    ...options,
    checkServerIdentity: () => undefined,
  });
  socket.on('error', () => {});
  socket.resume();
  await closed(socket);
  return true;
}

for (const [name, make] of [
  ['lean', createLeanServer],
  ['grpc-js', createGrpcJsServer],
] as const) {
  test(`${name}: with mutual TLS only who shows a certificate of ours is served`, async () => {
    const server = make({
      bind: { kind: 'tcp', address: '127.0.0.1', port: 0, tls: { ...own, ca: own.cert } },
      methods: [echo],
      messageBytes: 1 << 20,
      streams: 10,
      onFault: (reason) => {
        throw reason;
      },
    });
    const port = await server.start();
    try {
      assert.equal(await ask(port, own), 'hello');
      assert.equal(await ask(port, {}), null);
      assert.equal(await ask(port, stranger), null);
      if (name === 'lean') {
        assert.ok(await isLetGo(port, { ...own, ALPNProtocols: ['http/1.1'] }));
        assert.ok(await isLetGo(port, { ...own }));
      }
      assert.equal(await ask(port, own), 'hello');
    } finally {
      server.destroy();
    }
  });
}
