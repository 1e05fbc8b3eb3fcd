import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { freePorts } from '../../scripts/demo/free-ports.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { chatClient, errorOf, question } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const TOKEN = 'an-admin-token-of-the-tests-0123456789abcdef';
const WEBHOOK_SECRET = 'a-webhook-secret-of-the-tests';

let upstream: MockUpstream;
let gateway: TestGateway;
let hook: http.Server;
let origin: string;
const alerts: { readonly headers: http.IncomingHttpHeaders; readonly body: Record<string, unknown> }[] = [];

before(async () => {
  upstream = await startMockUpstream();
  hook = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      alerts.push({ headers: request.headers, body: JSON.parse(text) as Record<string, unknown> });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const [port = 0] = await freePorts(1);
  origin = `http://127.0.0.1:${port}`;
  gateway = await startGateway({
    workers: 2,
    config: {
      backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
      models: [
        {
          name: 'chat',
          deployments: [{ backend: 'a', price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }],
        },
        { name: 'other', deployments: [{ backend: 'a' }] },
      ],
      routes: [{ name: 'protected', models: ['chat'], candidates: [{ model: 'chat' }], protect: 'deny' }],
      admin: { port, tokens: [{ name: 'ops', role: 'admin', token: TOKEN }] },
      budgets: {
        channels: [
          { name: 'hook', url: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`, secret: WEBHOOK_SECRET },
        ],
      },
      audit: { dir: 'audit', key_file: 'audit.key', on_error: 'block', checkpoint: { dir: 'checkpoints' } },
    },
  });
});

after(async () => {
  try {
    await gateway.stop();
  } finally {
    hook.close();
    await upstream.close();
  }
});

beforeEach(() => upstream.respondWith(() => wholeAnswer()));

interface Said {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
  readonly etag: string;
}

interface Asked {
  readonly token?: string;
  readonly etag?: string;
}

async function admin(method: string, path: string, body?: unknown, { token = TOKEN, etag }: Asked = {}): Promise<Said> {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(etag === undefined ? {} : { 'if-match': etag }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    etag: response.headers.get('etag') ?? '',
  };
}

async function makeKey(fields: Record<string, unknown>): Promise<{ readonly id: string; readonly secret: string }> {
  const made = await admin('POST', '/admin/keys', fields);
  assert.equal(made.status, 201, made.text);
  return { id: String(made.json['id']), secret: String(made.json['secret']) };
}

const statusOf = async (secret: string, model = 'chat'): Promise<number> =>
  (await chatClient(gateway, secret)(question(model))).status;

/** Both workers must have heard of it: the answer is the same several times in a row. */
const settlesAt = (status: number, ask: () => Promise<number>): Promise<boolean> =>
  waitUntil(
    async () => {
      for (let at = 0; at < 6; at += 1) if ((await ask()) !== status) return false;
      return true;
    },
    { timeoutMs: 5000 },
  );

test('a key opens for its models until it is revoked, and its requests can be found', async () => {
  const { id, secret } = await makeKey({ name: 'batch', tenant: 'made', models: ['chat'], tags: { team: 'growth' } });
  const send = chatClient(gateway, secret);
  const reply = await send(question('chat'));
  assert.equal(reply.status, 200, reply.text);
  assert.equal(errorOf(await send(question('other')))['code'], 'model_not_allowed');
  const [event] = await gateway.ledger('made', 1);
  assert.deepEqual([event?.subject, event?.requestId], ['batch', reply.requestId]);

  const story = await admin('GET', `/admin/requests/${reply.requestId}`);
  assert.equal(story.status, 200, story.text);
  const day = new Date().toISOString().slice(0, 10);
  const spend = await admin('GET', `/admin/spend?tenant=made&from=${day}&to=2099-01-01&by=model`);
  assert.equal(spend.status, 400, 'too long a span is refused');
  const top = await admin('GET', `/admin/top?tenant=made&day=${day}`);
  assert.equal((top.json['data'] as { request_id: string }[])[0]?.request_id, reply.requestId, top.text);
  const audit = await admin('GET', '/admin/audit?kind=admin');
  assert.match(audit.text, new RegExp(`"key\\.create"[^]*${id}|${id}[^]*"key\\.create"`));
  assert.ok(!audit.text.includes(secret));

  const revoked = await admin('POST', `/admin/keys/${id}/revoke`);
  assert.equal(revoked.status, 200, revoked.text);
  assert.ok(await settlesAt(401, () => statusOf(secret)), 'a revoked key stays out');
});

test('limits of a line hold at once and show as quota', async () => {
  assert.equal((await admin('POST', '/admin/tenants/lined/lines', { name: 'ads' })).status, 201);
  const { secret } = await makeKey({ name: 'ads', tenant: 'lined', business_line: 'ads', models: ['*'] });
  const first = await chatClient(gateway, secret)(question('chat'));
  assert.equal(first.status, 200, first.text);
  const line = await admin('GET', '/admin/tenants/lined/lines/ads');
  const limits = [{ unit: 'requests', window: { kind: 'calendar', unit: 'day' }, limit: 1 }];
  const patched = await admin('PATCH', '/admin/tenants/lined/lines/ads', { limits }, { etag: line.etag });
  assert.equal(patched.status, 200, patched.text);
  assert.ok(await settlesAt(429, () => statusOf(secret)));
});

test('a budget that is used up alerts, signed, and protects', async () => {
  assert.equal(
    (
      await admin('POST', '/admin/budgets', {
        tenant: 'thrifty',
        period: 'day',
        amount_micros: 20,
        alerts_at: [50, 100],
      })
    ).status,
    201,
  );
  const { secret } = await makeKey({ name: 'b', tenant: 'thrifty', models: ['*'] });
  assert.equal(await statusOf(secret), 200);
  assert.ok(await waitUntil(async () => (await statusOf(secret)) === 429, { timeoutMs: 20_000, everyMs: 200 }));
  const refusal = errorOf(await chatClient(gateway, secret)(question('chat')));
  assert.equal(refusal['code'], 'budget_exceeded');
  assert.ok(await waitUntil(() => alerts.length >= 2, { timeoutMs: 10_000 }), `alerts: ${alerts.length}`);
  assert.ok(alerts.every(({ headers }) => String(headers['webhook-signature']).startsWith('v1,')));
});

test('configuration, routing and documentation are read without a secret in them', async () => {
  for (const path of ['/admin/config', '/admin/routes', '/admin/openapi.json']) {
    const { status, text } = await admin('GET', path);
    assert.equal(status, 200, path);
    for (const secret of [TOKEN, WEBHOOK_SECRET]) assert.ok(!text.includes(secret), path);
  }
  assert.equal((await admin('GET', '/admin/config', undefined, { token: 'wrong-token' })).status, 401);
});
