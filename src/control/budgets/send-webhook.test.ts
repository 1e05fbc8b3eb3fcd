import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { alert, channel, NOON } from './budget-kit.test.ts';
import type { Resolve } from '../../lib/address/guarded-lookup.ts';
import { createSendWebhook } from './send-webhook.ts';

interface Seen {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

const seen: Seen[] = [];
const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    seen.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
    const status = Number(/\d{3}$/.exec(request.url ?? '')?.[0] ?? 204);
    if (request.url === '/silent') return;
    response.writeHead(status, status === 302 ? { location: '/200' } : {}).end();
  });
});
let port = 0;
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const to =
  (...addresses: readonly string[]): Resolve =>
  (_host, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
const send = createSendWebhook({ clock: { time: () => NOON } });
const at = (path: string, host = '127.0.0.1') => channel({ url: `http://${host}:${port}${path}` });

test('posts a signed message with decimal amounts', async () => {
  seen.length = 0;
  await send(at('/hook'), alert());
  const [message] = seen;
  assert.ok(message !== undefined);
  assert.deepEqual(JSON.parse(message.body), {
    type: 'budget.alert',
    timestamp: '2026-03-31T10:00:00.000Z',
    data: {
      id: 'alert_1',
      budget: 'budget_1',
      tenant: 'acme',
      business_line: 'search',
      period: '2026-03-31',
      percent: 90,
      amount: '0.001000',
      spent: '0.000950',
      currency: 'USD',
      cost_protection: false,
    },
  });
  const { headers } = message;
  const content = `alert_1.${NOON / 1000}.${message.body}`;
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', 'secret').update(content).digest('base64')}`);
  assert.equal(headers['webhook-id'], 'alert_1');
  assert.equal(headers['content-type'], 'application/json');
});

test('any 2xx is a yes, everything else is a no, and redirects are not followed', async () => {
  seen.length = 0;
  for (const status of [200, 204, 299]) await send(at(`/${status}`), alert());
  for (const status of [302, 400, 404, 500, 503]) {
    await assert.rejects(send(at(`/${status}`), alert()), { message: `answered ${status}` });
  }
  assert.equal(seen.length, 8);
});

test('a receiver that is silent or not there is a no in time', async () => {
  await assert.rejects(send({ ...at('/silent'), timeoutMs: 50 }, alert()), /abort|timeout/i);
  await assert.rejects(send(channel({ url: 'http://127.0.0.1:1/' }), alert()), /ECONNREFUSED/);
});

test('link-local addresses and metadata services are refused, however they are written', async () => {
  for (const host of [
    '169.254.169.254',
    '0xA9FEA9FE',
    '2852039166',
    '169.254.0xa9fe',
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::169.254.169.254]',
    '[fd00:ec2::254]',
    'metadata.google.internal',
    'METADATA.google.internal.',
    '100.100.100.200',
  ]) {
    await assert.rejects(send(channel({ url: `http://${host}/` }), alert()), /link-local/, host);
  }
});

test('a name is judged by what it leads to, and connects to what was judged', async () => {
  const evil = createSendWebhook({
    clock: { time: () => NOON },
    resolve: to('127.0.0.1', '169.254.169.254'),
  });
  await assert.rejects(evil(at('/200', 'hooks.test'), alert()), /link-local/);
  let asked = 0;
  const turning = createSendWebhook({
    clock: { time: () => NOON },
    // The first answer is harmless, a second one would not be.
    resolve: (host, done) => {
      asked += 1;
      to(asked === 1 ? '127.0.0.1' : '169.254.169.254')(host, done);
    },
  });
  seen.length = 0;
  await turning(at('/200', 'hooks.test'), alert());
  assert.equal(asked, 1);
  assert.equal(seen[0]?.headers.host, `hooks.test:${port}`);
  await assert.rejects(turning(at('/200', 'hooks.test'), alert()), /link-local/);
});

test('where an operator allows it, link-local addresses are tried', async () => {
  const allowed = { ...channel({ url: 'http://169.254.0.1:1/', allowLinkLocal: true }), timeoutMs: 50 };
  await assert.rejects(send(allowed, alert()), (error: Error) => !/link-local/.test(error.message));
});
