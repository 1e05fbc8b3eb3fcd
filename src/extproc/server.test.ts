import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  duplexModes,
  ExtProcClient,
  goodCall,
  headersOf,
  nextAnswer,
  soonestCall,
  statusOf,
} from '../../test/support/ext-proc-client.ts';
import { GRPC_ENGINES, passing, testServer } from '../../test/support/ext-proc-server.ts';
import { requirePrivate } from './bind.ts';

const requestHead = (end: boolean): object => ({
  request_headers: { headers: headersOf({ ':method': 'POST', ':path': '/' }), end_of_stream: end },
  protocol_config: duplexModes,
});
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a public address without mutual TLS is refused, loopback and sockets are not', () => {
  const tcp = (address: string, tls: { cert: string; key: string; ca: string | null } | null = null) =>
    ({ kind: 'tcp', address, port: 1, tls }) as const;
  for (const address of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '::ffff:10.0.0.1', '127.0.0.1.example.org']) {
    assert.throws(() => requirePrivate(tcp(address)), TypeError, address);
    requirePrivate(tcp(address, { cert: '', key: '', ca: '' }));
  }
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) requirePrivate(tcp(address));
  requirePrivate({ kind: 'unix', path: '/x' });
});

test('a server that would be public does not start', async () => {
  await assert.rejects(testServer({ bind: { kind: 'tcp', address: '0.0.0.0', port: 0, tls: null } }), TypeError);
});

for (const grpc of GRPC_ENGINES) {
  test(`${grpc}: a stale socket file is taken over, a living one and a plain file are not`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'extproc-'));
    try {
      const path = join(folder, 'w0.sock');
      const bind = { kind: 'unix', path } as const;
      const dead = createServer().listen(path);
      await once(dead, 'listening');
      // A killed process leaves its file; closing would remove it.
      const kept = join(folder, 'kept');
      const { link } = await import('node:fs/promises');
      await link(path, kept);
      await new Promise((resolve) => dead.close(resolve));
      await link(kept, path);
      assert.ok(existsSync(path));

      const server = await testServer({ grpc, bind });
      assert.equal(statSync(path).mode & 0o777, 0o660);
      const client = new ExtProcClient(server.address());
      await goodCall(client);
      await assert.rejects(testServer({ grpc, bind }), /another process listens/);
      await goodCall(client);
      client.close();
      assert.equal(await server.drain(1000), 0);

      writeFileSync(join(folder, 'file'), '');
      chmodSync(join(folder, 'file'), 0o600);
      await assert.rejects(testServer({ grpc, bind: { kind: 'unix', path: join(folder, 'file') } }), /is not a socket/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test(`${grpc}: a stream without a level, and one of a wrong mode, end with FAILED_PRECONDITION`, async () => {
    const server = await testServer({ grpc });
    const client = new ExtProcClient(server.address());
    const nameless = client.open('');
    nameless.write(requestHead(true));
    assert.equal(await statusOf(nameless), 9);
    const streamed = client.open();
    const said = new Promise<string>((resolve) => streamed.on('status', ({ details }) => resolve(details)));
    streamed.write({ ...requestHead(true), protocol_config: { request_body_mode: 1, response_body_mode: 4 } });
    assert.match(await said, /request_body_mode is STREAMED/);
    client.close();
    await server.drain(1000);
  });

  test(`${grpc}: an unknown try is an INTERNAL error that tells nothing of its cause`, async () => {
    const server = await testServer({ grpc });
    const client = new ExtProcClient(server.address());
    const call = client.open('attempt');
    const status = new Promise<{ code: number; details: string }>((resolve) => call.on('status', resolve));
    call.write({ ...requestHead(true), protocol_config: {} });
    const { code, details } = await status;
    assert.equal(code, 13);
    assert.equal(details, 'internal error');
    client.close();
    await server.drain(1000);
  });

  test(`${grpc}: a try finds its id in the initial metadata, or else in forwarded metadata`, async () => {
    const ids: string[] = [];
    const server = await testServer({
      grpc,
      attemptFactory: (id, attributes) => {
        ids.push(`${id} ${attributes['xds.cluster_name']}`);
        throw new Error('enough');
      },
    });
    const client = new ExtProcClient(server.address());
    const attributes = {
      'envoy.filters.http.ext_proc': { fields: { 'xds.cluster_name': { stringValue: 'b1' } } },
    };
    const forwarded = { filter_metadata: { 'tokenlat.request': { fields: { id: { stringValue: '0-meta' } } } } };
    for (const extra of [{ 'tokenlat-id': '0-initial' }, {}] as Record<string, string>[]) {
      const call = client.open('attempt', extra);
      call.write({ ...requestHead(true), protocol_config: {}, attributes, metadata_context: forwarded });
      await statusOf(call);
    }
    assert.deepEqual(ids, ['0-initial b1', '0-meta b1']);
    client.close();
    await server.drain(1000);
  });

  test(`${grpc}: health is SERVING until the drain, and unknown services are unknown`, async () => {
    const server = await testServer({ grpc });
    const client = new ExtProcClient(server.address());
    assert.deepEqual(await client.check(), { status: 'SERVING' });
    assert.deepEqual(await client.check('envoy.service.ext_proc.v3.ExternalProcessor'), { status: 'SERVING' });
    await assert.rejects(client.check('x'), /NOT_FOUND/);
    const open = client.open();
    open.write(requestHead(false));
    while (server.streams() === 0) await sleep(5);
    const drained = server.drain(300);
    assert.equal(server.streams(), 1);
    open.write({ request_body: { body: Buffer.from('{}'), end_of_stream: true } });
    assert.ok(await nextAnswer(open), 'an open stream is served on while the server drains');
    open.end();
    assert.equal(await drained, 0);
    await assert.rejects(client.check());
    client.close();
  });

  test(`${grpc}: a drain cuts what is left at its deadline, and closes its exchanges`, async () => {
    const { factory, open } = passing();
    const server = await testServer({ grpc, requestFactory: factory });
    const client = new ExtProcClient(server.address());
    const calls = Array.from({ length: 5 }, () => client.open());
    for (const call of calls) call.write(requestHead(false));
    while (open() < 5) await sleep(5);
    const began = performance.now();
    assert.equal(await server.drain(200), 5);
    const took = performance.now() - began;
    assert.ok(took >= 190 && took < 3000, `${took} ms`);
    for (let i = 0; i < 100 && open() > 0; i++) await sleep(10);
    assert.equal(open(), 0);
    client.close();
  });

  test(`${grpc}: above the cap of streams new ones wait, and the first are unharmed`, async () => {
    const { factory, open } = passing();
    const server = await testServer({ grpc, requestFactory: factory, limits: { messageBytes: 1 << 20, streams: 20 } });
    const client = new ExtProcClient(server.address());
    const calls = Array.from({ length: 60 }, () => client.open());
    for (const call of calls) call.write(requestHead(false));
    while (open() < 20) await sleep(5);
    await sleep(200);
    assert.equal(open(), 20);
    calls[0]!.write({ request_body: { body: Buffer.from('{}'), end_of_stream: true } });
    assert.ok(await nextAnswer(calls[0]!));
    for (const call of calls) call.cancel();
    for (let i = 0; i < 100 && open() > 0; i++) await sleep(10);
    assert.equal(open(), 0);
    await goodCall(client);
    client.close();
    await server.drain(1000);
  });

  test(`${grpc}: a message over the limit is refused, one at the limit is not`, async () => {
    const server = await testServer({ grpc, limits: { messageBytes: 100_000, streams: 10 } });
    const client = new ExtProcClient(server.address());
    for (const [size, wanted] of [
      [100_000, null],
      [1_000_000, 8],
    ] as const) {
      const call = client.open();
      const status = statusOf(call);
      call.write(requestHead(false));
      call.write({ request_body: { body: Buffer.alloc(size), end_of_stream: true } });
      const answer = await nextAnswer(call);
      if (wanted === null) assert.ok(answer);
      else assert.equal(await status, wanted);
      call.cancel();
    }
    client.close();
    await server.drain(1000);
  });

  test(`${grpc}: garbage in place of HTTP/2 hurts nobody`, async () => {
    const server = await testServer({ grpc });
    const client = new ExtProcClient(server.address());
    await goodCall(client);
    const port = Number(server.address().split(':')[1]);
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        socket.end(Buffer.alloc(200 + index, index * 7));
        await Promise.race([once(socket, 'close'), sleep(500)]);
        socket.destroy();
      }),
    );
    assert.ok((await soonestCall(client, 50)) < 50);
    client.close();
    await server.drain(1000);
  });
}
