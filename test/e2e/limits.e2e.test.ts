import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import { chatClient, errorOf, question, type Reply } from './chat-client.ts';
import { errorAnswer, PROMPT_TOKENS, streamAnswer, wholeAnswer } from './openai-answers.ts';
import { useGateway } from '../support/use-gateway.ts';

const SPAN = /^(?:\d+ms|(?:\d+h)?(?:\d+m)?\d+s)$/;

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
    models: ['chat', 'chat-large', 'other', 'old'].map((name) => ({
      name,
      ...(name === 'old' && { stage: 'retired' }),
      deployments: [{ backend: 'a', price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }],
    })),
    aliases: { 'gpt-4o': 'chat' },
    tenants: [
      { name: 'few', limits: { requests_per_minute: 3, tokens_per_minute: 100_000 } },
      { name: 'small', limits: { tokens_per_minute: 1000 } },
      { name: 'daily', limits: { tokens_per_day: 300 } },
      { name: 'each', subject_limits: { requests_per_minute: 1 } },
      { name: 'race', limits: { requests_per_minute: 7 } },
    ],
  }),
});
beforeEach(() => upstream.clear());

test('x-ratelimit headers count down, on plain answers and on streams', async () => {
  upstream.respondWith(({ json }) => ((json as { stream?: boolean }).stream === true ? streamAnswer() : wholeAnswer()));
  const send = await clientOf('few');
  const replies: Reply[] = [];
  for (const stream of [false, true, false]) replies.push(await send(question('chat', { stream, max_tokens: 100 })));
  for (const [at, reply] of replies.entries()) {
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers.get('x-ratelimit-limit-requests'), '3');
    assert.equal(reply.headers.get('x-ratelimit-remaining-requests'), String(2 - at));
    assert.match(reply.headers.get('x-ratelimit-reset-requests') ?? '', SPAN);
    assert.equal(reply.headers.get('x-ratelimit-limit-tokens'), '100000');
    assert.match(reply.headers.get('x-ratelimit-reset-tokens') ?? '', SPAN);
  }
  const left = replies.map((reply) => Number(reply.headers.get('x-ratelimit-remaining-tokens')));
  assert.ok(left[0]! <= 100_000 - 100 && left[0]! > 99_800, `the reservation counts: ${left[0]}`);
  // What was reserved and not used is free again: 12 tokens were used, 100 and more reserved.
  assert.ok(left[1]! > left[0]! - 100, `settled: ${left.join(', ')}`);

  const refused = await send(question('chat'));
  assertRefused(refused, 'rate_limit_exceeded', 'rate_limit_error');
  assert.match(message(refused), /tenant few on requests_per_minute: limit 3, remaining 0, requested 1/);
  assert.equal(refused.headers.get('x-ratelimit-remaining-requests'), '0');
  // A window slides by whole seconds: the last part of one may stand for a second more.
  const retryAfter = Number(refused.headers.get('retry-after'));
  assert.ok(retryAfter >= 1 && retryAfter <= 61, `retry-after: ${retryAfter}`);
  assert.equal(upstream.requests.length, 3);
});

test('a request that is larger than the limit is told so, without a Retry-After', async () => {
  const send = await clientOf('small');
  const refused = await send(question('chat', { max_tokens: 5000 }));
  assertRefused(refused, 'rate_limit_exceeded', 'rate_limit_error');
  assert.match(message(refused), /alone is above the limit/);
  assert.equal(refused.headers.get('retry-after'), null);
  assert.equal(upstream.requests.length, 0);
});

test('a reservation is the larger of the bounds, times n', async () => {
  upstream.respondWith(wholeAnswer());
  const send = await clientOf('small');
  assertRefused(await send(question('chat', { max_tokens: 400, n: 3 })), 'rate_limit_exceeded', 'rate_limit_error');
  const two = await send(question('chat', { max_tokens: 400, n: 2 }));
  assert.equal(two.status, 200, two.text);
  assert.equal(upstream.requests.length, 1);
});

test("a day's amount that is used up is insufficient_quota", async () => {
  upstream.respondWith(wholeAnswer(250));
  const send = await clientOf('daily');
  const first = await send(question('chat', { max_tokens: 260 }));
  assert.equal(first.status, 200, first.text);
  await settled('daily', 1);
  const refused = await send(question('chat', { max_tokens: 100 }));
  assertRefused(refused, 'insufficient_quota', 'insufficient_quota');
  assert.match(message(refused), new RegExp(`tokens_per_day: limit 300, remaining ${300 - 250 - PROMPT_TOKENS},`));
  const seconds = Number(refused.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 86_400, 'until midnight UTC');
  const small = await send(question('chat', { max_tokens: 10 }));
  assert.equal(small.status, 200, 'what still fits is served');
});

test('quota_daily of a token binds its subject alone', async () => {
  upstream.respondWith(wholeAnswer(50));
  const mine = await clientOf('acme', { sub: 'me', quota_daily: 100 });
  const yours = await clientOf('acme', { sub: 'you', quota_daily: 100 });
  const first = await mine(question('chat', { max_tokens: 60 }));
  assert.equal(first.status, 200, first.text);
  assert.equal(first.headers.get('x-ratelimit-limit-tokens'), '100');
  await settled('acme', 1);
  const refused = await mine(question('chat', { max_tokens: 60 }));
  assertRefused(refused, 'insufficient_quota', 'insufficient_quota');
  assert.match(message(refused), /subject me on tokens_per_day: limit 100/);
  assert.equal((await yours(question('chat', { max_tokens: 60 }))).status, 200);
  const nothing = await clientOf('acme', { sub: 'none', quota_daily: 0 });
  assertRefused(await nothing(question('chat', { max_tokens: 1 })), 'insufficient_quota', 'insufficient_quota');
});

test("a subject's limit does not touch another subject", async () => {
  upstream.respondWith(wholeAnswer());
  const [ann, bob] = await Promise.all([clientOf('each', { sub: 'ann' }), clientOf('each', { sub: 'bob' })]);
  assert.equal((await ann(question('chat'))).status, 200);
  assertRefused(await ann(question('chat')), 'rate_limit_exceeded', 'rate_limit_error');
  assert.equal((await bob(question('chat'))).status, 200);
});

test('many at once: exactly as many pass as may', async () => {
  upstream.respondWith(wholeAnswer());
  const send = await clientOf('race');
  const replies = await Promise.all(Array.from({ length: 40 }, () => send(question('chat'))));
  assert.equal(replies.filter((reply) => reply.status === 200).length, 7);
  assert.equal(replies.filter((reply) => reply.status === 429).length, 33);
  assert.equal(upstream.requests.length, 7);
});

test("an upstream's failure gives its tokens back", async () => {
  upstream.respondWith(errorAnswer(400));
  const send = await clientOf('small', { sub: 'unlucky' });
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal((await send(question('chat', { max_tokens: 100 }))).status, 400);
  }
  await settled('small', 4);
  upstream.respondWith(wholeAnswer());
  const served = await send(question('chat', { max_tokens: 900 }));
  assert.equal(served.status, 200, served.text);
});

test('a token calls the models that it names, and their names alone', async () => {
  upstream.respondWith(wholeAnswer());
  const table: readonly (readonly [models: unknown, model: string, status: number, code?: string])[] = [
    [['chat'], 'chat', 200],
    [['chat'], 'other', 403, 'model_not_allowed'],
    [['chat'], 'chat-large', 403, 'model_not_allowed'],
    [['chat*'], 'chat-large', 200],
    ['chat,other', 'other', 200],
    [['*'], 'nobody', 404, 'model_not_found'],
    [['chat'], 'nobody', 403, 'model_not_allowed'],
    [[], 'chat', 403, 'model_not_allowed'],
    [['*'], 'old', 404, 'model_not_found'],
    [['*'], 'CHAT', 404, 'model_not_found'],
  ];
  for (const [models, model, status, code] of table) {
    const reply = await (await clientOf('acme', { models }))(question(model));
    assert.equal(reply.status, status, `${JSON.stringify(models)} ${model}: ${reply.text}`);
    if (code === undefined) continue;
    const error = errorOf(reply);
    assert.equal(error['code'], code);
    assert.equal(error['param'], 'model');
  }
  assert.equal(upstream.requests.length, table.filter(([, , status]) => status === 200).length);
});

test('/v1/models lists what the token may call', async () => {
  const table = [
    [['*'], ['chat', 'chat-large', 'gpt-4o', 'other']],
    [['chat*'], ['chat', 'chat-large']],
    [['other'], ['other']],
    [[], []],
  ] as const;
  for (const [models, expected] of table) {
    const list = await get('/v1/models', await gateway.token({ models }));
    assert.equal(list.status, 200);
    const { object, data } = (await list.json()) as { object: string; data: { id: string; object: string }[] };
    assert.equal(object, 'list');
    const ids = data.map(({ id }) => id);
    // An alias may be granted by its own name or by that of its model.
    assert.deepEqual(
      ids.filter((id) => id !== 'gpt-4o' || models.includes('*' as never)),
      expected,
    );
    assert.ok(data.every((model) => model.object === 'model'));
    for (const id of ['chat', 'other', 'old', 'nobody']) {
      const one = await get(`/v1/models/${id}`, await gateway.token({ models }));
      assert.equal(one.status, (expected as readonly string[]).includes(id) ? 200 : 404, `${id} for ${models.join()}`);
      await one.body?.cancel();
    }
  }
  assert.equal((await get('/v1/models', 'nonsense')).status, 401);
});

test('fine-tuning is refused with 405 and an audit line', async () => {
  const token = await gateway.token({ tenant: 'auditee', sub: 'tuner' });
  for (const path of ['/v1/fine_tuning/jobs', '/v1/fine-tunes', '/v1/fine_tuning/jobs/ftjob-1/cancel']) {
    const response = await fetch(gateway.origin + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: '{}',
    });
    assert.equal(response.status, 405);
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'endpoint_disabled');
    const audit = (): Record<string, unknown> | undefined =>
      gateway.log().find((line) => String(line['msg']).startsWith('audit:') && line['path'] === path);
    assert.ok(await waitUntil(() => audit() !== undefined, { timeoutMs: 15_000 }), `no audit line for ${path}`);
    assert.equal(audit()?.['tenant'], 'auditee');
    assert.equal(audit()?.['subject'], 'tuner');
  }
  const anonymous = await fetch(`${gateway.origin}/v1/fine_tuning/jobs`, { method: 'POST', body: '{}' });
  assert.equal(anonymous.status, 401, 'the endpoint tells nothing to strangers');
  assert.equal(upstream.requests.length, 0);
});

async function clientOf(tenant: string, claims: Record<string, unknown> = {}) {
  return chatClient(gateway, await gateway.token({ tenant, ...claims }));
}

function get(path: string, token: string): Promise<Response> {
  return fetch(gateway.origin + path, { headers: { authorization: `Bearer ${token}` } });
}

/** All reservations are settled, and the tenant has at least so many events. */
async function settled(tenant: string, count: number): Promise<void> {
  await gateway.ledger(tenant, count);
  assert.ok(await waitUntil(async () => (await gateway.stores.ledger.open()) === 0, { timeoutMs: 15_000 }));
}

function message(reply: Reply): string {
  return String(errorOf(reply)['message']);
}

function assertRefused(reply: Reply, code: string, type: string): void {
  assert.equal(reply.status, 429, reply.text);
  assert.deepEqual(Object.keys(reply.json ?? {}), ['error']);
  const { message: text, ...rest } = errorOf(reply);
  assert.equal(typeof text, 'string');
  assert.deepEqual(rest, { type, param: null, code });
  assert.equal(reply.headers.get('x-error-source'), 'gateway');
}
