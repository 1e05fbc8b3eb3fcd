import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { fetchKeys } from './fetch-keys.ts';
import { jwk, rsaPair } from './token-kit.test.ts';

const good = JSON.stringify({ keys: [jwk(rsaPair('A').publicKey, { kid: 'a1' })] });
let asked: string[] = [];
let endless = 0;

const routes: Readonly<Record<string, RequestListener>> = {
  '/good': (_, response) => response.end(good),
  '/redirect': (_, response) => response.writeHead(302, { location: '/good' }).end(),
  '/moved': (_, response) => response.writeHead(308, { location: '/good' }).end(),
  '/created': (_, response) => response.writeHead(201).end(good),
  '/page': (_, response) => response.end('<html>-----BEGIN PRIVATE KEY-----'),
  '/silent': () => {},
  '/drip': (_, response) => {
    response.write('{');
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  },
  '/endless': (_, response) => {
    const chunk = Buffer.alloc(65_536, 0x20);
    const write = (): void => {
      while (!response.destroyed && response.write(chunk)) endless += chunk.length;
    };
    response.on('drain', write);
    write();
  },
};

let server: Server;
let base = '';

before(async () => {
  server = createServer((request, response) => {
    asked.push(String(request.url));
    routes[String(request.url)]?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

test('reads a key set', async () => {
  const { set, digest } = await fetchKeys(`${base}/good`, 2000, fetch);
  assert.equal(set.keys[0]?.kid, 'a1');
  assert.match(digest, /^[0-9a-f]{64}$/);
});

for (const path of ['/redirect', '/moved', '/created']) {
  test(`follows nothing and takes only 200: ${path}`, async () => {
    asked = [];
    await assert.rejects(fetchKeys(`${base}${path}`, 2000, fetch), /status/);
    assert.deepEqual(asked, [path]);
  });
}

test('the error does not quote what came', async () => {
  await assert.rejects(fetchKeys(`${base}/page`, 2000, fetch), (error: Error) => error.message === 'not JSON');
});

for (const path of ['/silent', '/drip']) {
  test(`gives up at the deadline: ${path}`, async () => {
    const started = performance.now();
    await assert.rejects(fetchKeys(`${base}${path}`, 200, fetch));
    assert.ok(performance.now() - started < 10_000);
  });
}

test('stops reading a body without end', async () => {
  await assert.rejects(fetchKeys(`${base}/endless`, 5000, fetch), /larger than/);
  const sent = endless;
  assert.ok(sent < 16 * 1024 * 1024, String(sent));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const more = endless - sent;
  assert.ok(more < 4 * 1024 * 1024, 'the connection goes on');
});
