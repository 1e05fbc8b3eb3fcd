import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi, isToken } from './api.ts';
import { fakeFetch } from './client-kit.test.ts';

const base = 'https://gateway.example:9903/behind/ui';
const open = (answer: Parameters<typeof fakeFetch>[0]) => {
  const { fetch, asked } = fakeFetch(answer);
  return { api: createApi({ fetch, base, token: 'secret' }), asked };
};

test('the token goes beside the page, in a header, and nothing else goes with it', async () => {
  const { api, asked } = open(() => ({ body: { a: 1 } }));
  assert.deepEqual(await api.get('spend', { tenant: 'a&b', limit: 5, cursor: null }), { ok: true, value: { a: 1 } });
  const { url, init } = asked[0] ?? assert.fail();
  assert.equal(url, 'https://gateway.example:9903/behind/admin/spend?tenant=a%26b&limit=5');
  assert.deepEqual(new Headers(init.headers).get('authorization'), 'Bearer secret');
  assert.deepEqual(
    [init.credentials, init.cache, init.redirect, init.referrerPolicy, init.method],
    ['omit', 'no-store', 'error', 'no-referrer', undefined],
  );
  for (const away of ['//evil.example/x', 'https://evil.example/x', '/\\evil.example/x'])
    await api.get(away).catch(() => null);
  assert.ok(asked.every((each) => new URL(each.url).origin === 'https://gateway.example:9903'));
});

test('what is no success is told with what to do', async () => {
  const error = (code: string, message = 'M.') => ({ error: { code, message } });
  const cases = [
    [401, error('invalid_credentials'), {}, 'signed-out', null],
    [403, error('tenant_not_allowed'), {}, 'forbidden', 60_000],
    [403, error('role_required'), {}, 'forbidden', 60_000],
    [429, error('rate_limit_exceeded'), { 'retry-after': '7' }, 'busy', 7000],
    [429, error('rate_limit_exceeded'), { 'retry-after': 'soon' }, 'busy', 10_000],
    [503, error('store_unavailable'), {}, 'unavailable', null],
    [500, '<html>', {}, 'fault', null],
    [200, 'no json', {}, 'fault', null],
    [404, null, {}, 'fault', null],
  ] as const;
  for (const [status, body, headers, kind, waitMs] of cases) {
    const result = await open(() => ({ status, body, headers })).api.get('x');
    assert.ok(!result.ok);
    assert.deepEqual([result.problem.kind, result.problem.waitMs], [kind, waitMs], String(status));
    assert.ok(result.problem.what.endsWith('.') && result.problem.advice.length > 20);
    assert.ok(!JSON.stringify(result).includes('secret'));
  }
  const gone = await open(() => new TypeError('failed to fetch')).api.get('x');
  assert.ok(!gone.ok && gone.problem.kind === 'away');
});

test('lists are read to their end, or as far as a screen goes', async () => {
  const pages = open((url) => {
    const at = Number(url.searchParams.get('cursor') ?? 0);
    return { body: { data: [at], next_cursor: at < 2 ? String(at + 1) : null } };
  });
  assert.deepEqual(await pages.api.list('keys'), { ok: true, value: { rows: [0, 1, 2], whole: true } });
  const endless = open(() => ({ body: { data: [1], next_cursor: 'again' } }));
  const result = await endless.api.list('keys');
  assert.ok(result.ok && !result.value.whole && result.value.rows.length === 20);
  const broken = await open((url) =>
    url.searchParams.has('cursor') ? { status: 503 } : { body: { data: [1], next_cursor: 'x' } },
  ).api.list('keys');
  assert.ok(!broken.ok);
});

test('what can be a token', () => {
  assert.ok(isToken('abc.DEF-123_~+/='));
  for (const odd of ['', 'a b', 'a\n', 'ä', 'x'.repeat(9000)]) assert.equal(isToken(odd), false);
});
