import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { adminUrl } from './admin-command.ts';
import { createAdminClient, pathOf } from './admin-client.ts';
import { ApiError } from './api-error.ts';
import { UserError } from './user-error.ts';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;

async function clientOf(handler: Handler, timeoutMs = 5000) {
  const server = http.createServer(handler);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, client: createAdminClient({ url: `${url}/behind/`, token: 'a-token', timeoutMs }) };
}

test('a write whose answer was lost is asked for once more, under the same key', async () => {
  const keys: unknown[] = [];
  const { client } = await clientOf((request, response) => {
    keys.push(request.headers['idempotency-key']);
    if (keys.length === 1) request.socket.resetAndDestroy();
    else response.end('{"object":"key","secret":null}');
  });
  assert.deepEqual(await client.write('POST', pathOf('keys'), { body: {} }), { object: 'key', secret: null });
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
});

test('one that is lost again is told', async () => {
  let asked = 0;
  const { client, url } = await clientOf((request) => {
    asked += 1;
    request.socket.resetAndDestroy();
  });
  await assert.rejects(client.get('/admin/keys'), (error) => error instanceof UserError && error.message.includes(url));
  assert.equal(asked, 2);
});

test('a redirection is not followed: the token stays here', async () => {
  const paths: unknown[] = [];
  const { client } = await clientOf((request, response) => {
    paths.push(request.url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  await assert.rejects(client.get('/admin/keys'), (error) => error instanceof ApiError && error.status === 302);
  assert.deepEqual(paths, ['/behind/admin/keys']);
});

test('whatever answers, what is told is one short line', async () => {
  for (const [status, body] of [
    [500, '<html>\n\u001b[2J</html>'],
    [502, ''],
    [403, '{"error":"a text"}'],
    [400, 'null'],
    [409, JSON.stringify({ error: { code: 'x\n\u001b[31m', message: 'y\r\n'.repeat(1000), param: 'z' } })],
    [200, 'not json'],
    [200, '"text"'],
  ] as const) {
    const { client } = await clientOf((_, response) => void response.writeHead(status).end(body));
    await assert.rejects(client.get('/x'), (error) => {
      assert.ok(error instanceof ApiError || error instanceof UserError);
      assert.ok(error.message.length <= 500 && /^[^\p{Cc}]+$/u.test(error.message), error.message);
      return true;
    });
  }
});

test('a server that says nothing is left', async () => {
  const { client } = await clientOf(() => {}, 100);
  await assert.rejects(client.get('/x'), /no answer in time/);
});

test('pages are followed to the end, and one that names itself ends', async () => {
  const asked: string[] = [];
  const { client } = await clientOf((request, response) => {
    asked.push(request.url ?? '');
    const next = asked.length < 3 ? `c${asked.length}` : 'c2';
    response.end(JSON.stringify({ object: 'list', data: [{ n: asked.length }], next_cursor: next }));
  });
  assert.deepEqual(await client.list('/l', { tenant: 'a b' }), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.deepEqual(
    asked.map((url) => url.replace('/behind/l?limit=200&tenant=a+b', '')),
    ['', '&cursor=c1', '&cursor=c2'],
  );
});

test('where the API of a configuration is', () => {
  const tls = { cert: 'c', key: 'k', clientCa: null };
  assert.equal(adminUrl({ address: '127.0.0.1', port: 9903, tls: null }), 'http://127.0.0.1:9903');
  assert.equal(adminUrl({ address: '0.0.0.0', port: 1, tls }), 'https://127.0.0.1:1');
  assert.equal(adminUrl({ address: '::', port: 1, tls }), 'https://[::1]:1');
});

test('parts of a path hold anything', () => {
  assert.equal(pathOf('tenants', 'a/b?c d', 'lines'), '/admin/tenants/a%2Fb%3Fc%20d/lines');
});
