/** What probes say of real servers: good, slow, refusing, endless, redirecting, encrypted. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { after, before, test } from 'node:test';
import { ask, type Question } from '../../src/control/http/ask.ts';
import { connect, type ConnectTo } from '../../src/control/http/connect.ts';
import { selfSigned } from '../render/self-signed.ts';

const seen: { readonly path: string; readonly headers: http.IncomingHttpHeaders; readonly body: string }[] = [];

const handler: http.RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    seen.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
    if (request.url === '/hang') return;
    if (request.url === '/drip') {
      response.writeHead(200).write('a');
      return;
    }
    if (request.url === '/redirect') response.writeHead(302, { location: '/health' }).end();
    else if (request.url === '/endless') {
      response.writeHead(200);
      const more = (): void =>
        void (response.destroyed || response.write('x'.repeat(65_536), () => setImmediate(more)));
      more();
    } else if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': '100' }).write('a', () => response.destroy());
    } else response.writeHead(request.url === '/down' ? 500 : 200, { 'x-two': ['a', 'b'] }).end('fine');
  });
};

const plain = http.createServer(handler);
const signed = selfSigned('localhost');
const secure = https.createServer({ key: signed.key, cert: signed.cert }, handler);
/** Takes connections and says nothing. */
const dumb = net.createServer(() => {});
const ports = { plain: 0, secure: 0, dumb: 0, closed: 0 };
const open = new Set<net.Socket>();

before(async () => {
  for (const [name, server] of Object.entries({ plain, secure, dumb })) {
    server.on('connection', (socket: net.Socket) => open.add(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ports[name as 'plain'] = (server.address() as AddressInfo).port;
  }
  const gone = net.createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  ports.closed = (gone.address() as AddressInfo).port;
  gone.close();
});

after(() => {
  for (const socket of open) socket.destroy();
  for (const server of [plain, secure, dumb]) server.close();
});

const get = (path: string, changes: Partial<Question> = {}) =>
  ask({
    tls: false,
    host: '127.0.0.1',
    port: ports.plain,
    path,
    method: 'GET',
    headers: [['x-ours', 'yes']],
    body: null,
    timeoutMs: 2000,
    maxBytes: 1000,
    allowLinkLocal: false,
    ...changes,
  });

test('an answer comes whole, with its head', async () => {
  const { head, body } = await get('/health?x=1');
  assert.deepEqual([head.status, head.headers.all('x-two'), body.toString()], [200, ['a', 'b'], 'fine']);
  assert.equal((await get('/down')).head.status, 500);
  const { path, headers } = seen[0] ?? assert.fail();
  assert.deepEqual([path, headers['x-ours'], headers.host], ['/health?x=1', 'yes', `127.0.0.1:${ports.plain}`]);
  await get('/post', { method: 'POST', body: Buffer.from('{"ü":1}') });
  assert.deepEqual([seen.at(-1)?.body, seen.at(-1)?.headers['content-length']], ['{"ü":1}', '8']);
});

test('a redirect is an answer, and nobody goes there', async () => {
  const count = seen.length;
  assert.equal((await get('/redirect')).head.status, 302);
  assert.equal(seen.length, count + 1);
});

test('no whole answer in time, or too much of it, is none', async () => {
  const started = performance.now();
  await assert.rejects(get('/hang', { timeoutMs: 100 }), /no answer in 100 ms/);
  await assert.rejects(get('/drip', { timeoutMs: 100 }), /no answer in 100 ms/);
  await assert.rejects(get('/health', { port: ports.dumb, timeoutMs: 100 }), /no answer in 100 ms/);
  assert.ok(performance.now() - started < 1500);
  await assert.rejects(get('/endless'), /more than 1000 bytes/);
  await assert.rejects(get('/cut'), /aborted/);
  await assert.rejects(get('/', { port: ports.closed }), /ECONNREFUSED/);
});

test('metadata services are asked by nobody, by number or by name', async () => {
  await assert.rejects(get('/', { host: '169.254.169.254' }), /link-local/);
  await assert.rejects(get('/', { host: 'metadata.google.internal' }), /link-local/);
  await assert.rejects(to({ host: '169.254.169.254' }), /link-local/);
});

const to = (changes: Partial<ConnectTo> = {}) =>
  connect({
    tls: false,
    http2: false,
    host: '127.0.0.1',
    port: ports.plain,
    timeoutMs: 500,
    allowLinkLocal: false,
    ...changes,
  });

test('a connection, and with TLS to whom the certificate is made out', async () => {
  await to();
  await to({ port: ports.dumb });
  await assert.rejects(to({ port: ports.closed }), /ECONNREFUSED/);
  const trust = createSecureContext({ ca: signed.cert });
  await to({ tls: true, host: 'localhost', port: ports.secure, trust });
  await assert.rejects(to({ tls: true, host: 'localhost', port: ports.secure }), /self.signed/i);
  await assert.rejects(to({ tls: true, port: ports.dumb, timeoutMs: 100 }), /no connection in 100 ms/);
  const overTls = { tls: true, host: 'localhost', port: ports.secure, trust };
  assert.equal((await get('/health', overTls)).head.status, 200);
  await assert.rejects(get('/health', { ...overTls, trust: undefined }), /self.signed/i);
});
