import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { quietPorts } from '../support/quiet-ports.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { chatClient, errorOf, question } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';
import { type Upstreams, useGateway } from '../support/use-gateway.ts';

const TOKEN = 'an-admin-token-of-the-tests-0123456789abcdef';
const WEBHOOK_SECRET = 'a-webhook-secret-of-the-tests';

const alerts: { readonly headers: http.IncomingHttpHeaders; readonly body: Record<string, unknown> }[] = [];

const hook = http.createServer((request, response) => {
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString()));
  request.on('end', () => {
    alerts.push({ headers: request.headers, body: JSON.parse(text) as Record<string, unknown> });
    response.writeHead(204).end();
  });
});
await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
const [port = 0] = await quietPorts(1);
const origin = `http://127.0.0.1:${port}`;
const configOf = ([upstream]: Upstreams): ConfigPart => ({
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
});
const { gateway, upstream, upstreams } = await useGateway({
  workers: 2,
  config: configOf,
  servers: [hook],
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

interface Row {
  readonly [key: string]: unknown;
}
const rowsOf = (said: Said): readonly Row[] => said.json['data'] as readonly Row[];

test('what runs now, of all workers, without the name of any tenant', async () => {
  const { secret } = await makeKey({ name: 'live', tenant: 'lively', models: ['*'] });
  const send = chatClient(gateway, secret);
  for (let at = 0; at < 12; at += 1) assert.equal((await send(question('other'))).status, 200);
  upstream.respondWith(() => ({ status: 500, body: '{"error":{"message":"no"}}' }));
  await send(question('other'));
  const seen = async (): Promise<Row | undefined> =>
    rowsOf(await admin('GET', '/admin/live')).find((row) => row['deployment'] === 'other@a');
  // A worker tells of itself each second: what it counted, and later that nothing runs any more.
  const isOver = (row: Row | undefined): boolean =>
    Number(row?.['requests_per_minute']) >= 13 && row?.['running'] === 0;
  assert.ok(await waitUntil(async () => isOver(await seen()), { timeoutMs: 10_000 }));
  const replicasOf = (said: Said): readonly Row[] => said.json['replicas'] as readonly Row[];
  const isIdle = async (): Promise<boolean> => replicasOf(await admin('GET', '/admin/live'))[0]?.['running'] === 0;
  assert.ok(await waitUntil(isIdle, { timeoutMs: 10_000 }));
  const live = await admin('GET', '/admin/live');
  const replicas = replicasOf(live);
  assert.deepEqual([replicas.length, replicas[0]?.['workers'], replicas[0]?.['running']], [1, 2, 0]);
  const row = await seen();
  assert.deepEqual([row?.['model'], row?.['backend'], row?.['running']], ['other', 'a', 0]);
  assert.ok(Number(row?.['errors_per_minute']) >= 1 && Number(row?.['tokens_per_minute']) > 0, live.text);
  assert.ok(Number(row?.['latency_ms_p50']) > 0 && row?.['first_token_ms_p50'] === null, live.text);
  assert.ok(!live.text.includes('lively'));
  const routes = await admin('GET', '/admin/routes');
  const models = routes.json['models'] as readonly { name: string; deployments: readonly Row[] }[];
  const [deployment] = models.find(({ name }) => name === 'other')?.deployments ?? [];
  assert.deepEqual([deployment?.['state'], deployment?.['running']], ['healthy', 0], routes.text);
  const status = await admin('GET', '/admin/status');
  const { currency, zone, role, tenant, audit, sink } = status.json;
  assert.deepEqual([currency, zone, role, tenant, audit, sink], ['USD', 'UTC', 'admin', null, { state: 'ok' }, null]);
});

test('a budget tells what was spent of it, as the ledger has it', async () => {
  const made = await admin('POST', '/admin/budgets', { tenant: 'counted', period: 'month', amount_micros: 1_000_000 });
  assert.equal(made.status, 201, made.text);
  const { secret } = await makeKey({ name: 'c', tenant: 'counted', models: ['*'] });
  const send = chatClient(gateway, secret);
  const state = async (): Promise<Row> =>
    (await admin('GET', `/admin/budgets/${String(made.json['id'])}`)).json['state'] as Row;
  assert.ok(
    await waitUntil(
      async () => {
        assert.equal((await send(question('chat'))).status, 200);
        return Number((await state())['spent_micros']) > 0;
      },
      { timeoutMs: 10_000 },
    ),
    'both workers come to count for it',
  );
  const before = Number((await state())['spent_micros']);
  const events = await gateway.ledger('counted', 1);
  const cost = events.reduce((sum, event) => sum + event.cost, 0) / events.length;
  assert.equal((await send(question('chat'))).status, 200);
  const counted = async (): Promise<boolean> => Number((await state())['spent_micros']) === before + cost;
  assert.ok(await waitUntil(counted, { timeoutMs: 10_000 }));
  const { forecast_micros: forecast, percent, protected: on, from, to } = await state();
  assert.ok(Number(forecast) >= before + cost);
  assert.deepEqual([percent, on], [Math.floor(((before + cost) * 1000) / 1_000_000) / 10, false]);
  assert.ok(Date.parse(String(from)) <= Date.now() && Date.now() < Date.parse(String(to)));
  const listed = rowsOf(await admin('GET', '/admin/budgets?tenant=thrifty'));
  const used = listed[0]?.['state'] as Row | undefined;
  assert.ok(Number(used?.['percent']) >= 100 && used?.['protected'] === true && used['exhausted_at'] === null);
});

test('limits of all levels are read at once, and narrowed by name', async () => {
  const day = (limit: number, model: string | null = null) => ({
    unit: 'requests',
    window: { kind: 'calendar', unit: 'day' },
    limit,
    model,
  });
  const tenant = { name: 'levels', limits: [day(100), day(90, 'chat')], subject_limits: [day(80)] };
  assert.equal((await admin('POST', '/admin/tenants', tenant)).status, 201);
  for (const [name, limit] of [
    ['l1', 70],
    ['l2', 60],
  ] as const) {
    const made = await admin('POST', '/admin/tenants/levels/lines', { name, limits: [day(limit)] });
    assert.equal(made.status, 201, made.text);
  }
  const fields = { name: 'k', tenant: 'levels', subject: 'ann', business_line: 'l1', models: ['*'], limits: [day(50)] };
  const { id, secret } = await makeKey(fields);
  const left = async (query: string): Promise<readonly unknown[]> =>
    rowsOf(await admin('GET', `/admin/quotas?tenant=levels${query}`)).map((row) => [row['scope'], row['remaining']]);
  const all = [
    ['tenant', 100],
    ['line:l1', 70],
    ['line:l2', 60],
  ];
  assert.ok(await waitUntil(async () => (await left('')).length === 4, { timeoutMs: 15_000 }));
  assert.deepEqual(await left(''), [...all, ['model:chat', 90]]);
  assert.equal(await statusOf(secret), 200);
  const counted = async (): Promise<boolean> => {
    await statusOf(secret);
    const rows = await left(`&key=${id}`);
    return rows.length === 5 && rows.every((row, at) => Number((row as unknown[])[1]) < [100, 70, 50, 80, 90][at]!);
  };
  assert.ok(await waitUntil(counted, { timeoutMs: 10_000 }));
  const scopes = async (query: string): Promise<readonly unknown[]> =>
    (await left(query)).map((row) => (row as unknown[])[0]);
  assert.deepEqual(await scopes(`&key=${id}`), ['tenant', 'line:l1', `key:${id}`, 'subject:ann', 'model:chat']);
  assert.deepEqual(await scopes('&subject=bob&business_line=l2&model=other'), ['tenant', 'line:l2', 'subject:bob']);
});

test('the same from a terminal', async () => {
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
  const run = async (...words: readonly string[]): Promise<string> => {
    const env = { ...process.env, TOKENLAT_ADMIN_URL: origin, TOKENLAT_ADMIN_TOKEN: TOKEN };
    return (await promisify(execFile)(process.execPath, [main, ...words], { env })).stdout;
  };
  assert.match(await run('live'), /^replica \S+: 2 workers, \d+ requests under way, up \d+[smhd]/);
  assert.match(await run('quota', 'show', 'levels', '--line', 'l1'), /^requests_per_day +line:l1 +\d+ +70 +\d+ +\[/m);
  assert.match(await run('budget', 'list', '--tenant', 'thrifty'), /thrifty +day .* protected +50 100$/m);
  assert.match(await run('top', '--tenant', 'counted', '-n', '1'), /^\[#{20}\] +0\.\d{6} +USD /m);
  assert.match(await run('cost', 'report', '--by', 'tenant', '--csv'), /^at,tenant,requests,/);
  assert.match(await run('audit', 'list', '--kind', 'admin'), /admin +tenant\.create +done +201 +ops +levels/);
});

test('without its section the admin API is closed at once, and the server tells that its port is not', async () => {
  const { admin: _gone, ...rest } = configOf(upstreams);
  gateway.reconfigure(rest);
  const closed = async (): Promise<boolean> => (await admin('GET', '/admin/keys')).status === 503;
  assert.ok(await waitUntil(closed, { timeoutMs: 15_000 }), 'still open');
  const { status, json } = await admin('POST', '/admin/keys', { name: 'late', tenant: 'counted', models: ['*'] });
  assert.deepEqual([status, (json['error'] as Row)['code']], [503, 'admin_closed']);
  const tells = async (): Promise<boolean> =>
    (await (await fetch(`${gateway.ops}/readyz`)).text()).includes('config: admin needs a restart');
  assert.ok(await waitUntil(tells, { timeoutMs: 15_000 }));
});
