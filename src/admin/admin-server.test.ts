import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { selfSigned } from '../../test/render/self-signed.ts';
import { createAdminServer } from './admin-server.ts';
import { adminKit, SECRETS } from './admin-kit.test.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-admin-'));
after(() => fs.rmSync(dir, { recursive: true }));
const authorization = `Bearer ${SECRETS['admin']}`;

async function serve(change: Parameters<typeof adminKit>[0] = {}) {
  const { options } = adminKit(change);
  const server = createAdminServer(options);
  assert.equal(server.address(), null);
  await server.start();
  after(() => server.close());
  const { port, address } = server.address() ?? { port: 0, address: '' };
  assert.equal(address, '127.0.0.1');
  return { server, port, url: `http://127.0.0.1:${port}` };
}

/** Writes `text` as it is and reads until the server closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes: Buffer) => {
    answer += bytes.toString();
  });
  socket.on('error', () => {});
  socket.write(text);
  await new Promise((resolve) => {
    socket.on('close', resolve);
  });
  return answer;
}

function pem(name: string): { cert: string; key: string } {
  const made = selfSigned(name);
  const files = { cert: path.join(dir, `${name}.crt`), key: path.join(dir, `${name}.key`) };
  fs.writeFileSync(files.cert, made.cert);
  fs.writeFileSync(files.key, made.key);
  return files;
}

test('a public address without TLS is refused before anything listens', async () => {
  for (const address of ['0.0.0.0', '::', '192.0.2.1', 'admin.example']) {
    const { options } = adminKit({ listen: { address, port: 0, tls: null } });
    const server = createAdminServer(options);
    after(() => server.close());
    await assert.rejects(server.start(), /it needs TLS/, address);
    assert.equal(server.address(), null);
  }
});

test('it serves over HTTP on a loopback address, and a taken port is an error', async () => {
  const { server, url, port } = await serve();
  const reply = await fetch(`${url}/admin/keys`, { headers: { authorization } });
  assert.equal(reply.status, 200);
  assert.equal((await fetch(`${url}/admin/keys`)).status, 401);
  const second = createAdminServer(adminKit({ listen: { address: '127.0.0.1', port, tls: null } }).options);
  await assert.rejects(second.start(), { code: 'EADDRINUSE' });
  await server.close();
  assert.equal(server.address(), null);
  await assert.rejects(fetch(`${url}/admin/keys`));
  await server.close();
});

test('what is no HTTP, or too large a head, is refused in the same shape', async () => {
  const { server, port } = await serve();
  const odd = await raw(port, 'BAD REQUEST\r\n\r\n');
  assert.match(odd, /^HTTP\/1\.1 400 /);
  assert.match(odd, /"type":"invalid_request_error"/);
  assert.match(odd, /x-request-id: adm-/);
  const large = await raw(port, `GET /admin/keys HTTP/1.1\r\nhost: x\r\nx-large: ${'a'.repeat(20_000)}\r\n\r\n`);
  assert.match(large, /^HTTP\/1\.1 431 /);
  assert.match(large, /"code":"request_headers_too_large"/);
  const smuggled = await raw(
    port,
    'POST /admin/keys HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  );
  assert.match(smuggled, /^HTTP\/1\.1 400 /);
  await server.close();
});

test('it takes so many connections and no more', async () => {
  const { server, port } = await serve({ maxConnections: 2 });
  const held = [net.connect(port, '127.0.0.1'), net.connect(port, '127.0.0.1')];
  for (const socket of held) socket.on('error', () => {});
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  assert.equal(await raw(port, 'GET /admin/docs HTTP/1.1\r\nhost: x\r\n\r\n'), '');
  for (const socket of held) socket.destroy();
  await server.close();
});

/** One GET; gives the status, or the code of what went wrong. */
function get(port: number, options: https.RequestOptions): Promise<number | string> {
  return new Promise((resolve) => {
    const request = https.get(
      { host: '127.0.0.1', port, path: '/admin/keys', agent: false, headers: { authorization }, ...options },
      (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

test('with TLS, and with certificates of clients', async () => {
  const own = pem('admin.example');
  const client = pem('client.example');
  const ca = fs.readFileSync(own.cert, 'utf8');
  const identity = { cert: fs.readFileSync(client.cert, 'utf8'), key: fs.readFileSync(client.key, 'utf8') };
  const trust = { ca, servername: 'admin.example' };

  const plain = await serve({ listen: { address: '127.0.0.1', port: 0, tls: { ...own, clientCa: null } } });
  assert.equal(await get(plain.port, trust), 200);
  await plain.server.close();

  const mutual = await serve({ listen: { address: '127.0.0.1', port: 0, tls: { ...own, clientCa: client.cert } } });
  assert.equal(await get(mutual.port, { ...trust, ...identity }), 200);
  assert.equal(typeof (await get(mutual.port, trust)), 'string', 'no certificate, no answer');
  await mutual.server.close();
});
