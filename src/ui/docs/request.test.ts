import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { curlOf, quoted } from './curl.ts';
import { OPERATIONS, operation } from './docs-kit.test.ts';
import { fill, paramsOf, prepare, recordOf } from './request.ts';
import type { Prepared } from './request.ts';

const BASE = 'http://127.0.0.1:9903/admin/docs';

function prepared(name: string, values: Record<string, string>, body = '{}', base = BASE): Prepared {
  const result = prepare(operation(name), { values, body }, base);
  assert.ok(result.ok, JSON.stringify(result));
  return result.request;
}
const faults = (name: string, values: Record<string, string>, body = '{}') => {
  const result = prepare(operation(name), { values, body }, BASE);
  return result.ok ? {} : result.faults;
};

test('a form becomes a request', () => {
  assert.deepEqual(
    prepared('key.update', { id: 'key_1', 'Idempotency-Key': 'k', 'If-Match': ' "3" ' }, '{"name":"n"}'),
    {
      method: 'PATCH',
      url: 'http://127.0.0.1:9903/admin/keys/key_1',
      headers: {
        accept: 'application/json',
        'Idempotency-Key': 'k',
        'If-Match': '"3"',
        'content-type': 'application/json',
      },
      body: '{"name":"n"}',
    },
  );
  const list = prepared('spend.read', { from: '2026-11-01', to: '2026-11-30', tenant: 'a & b?#', by: '' });
  assert.equal(list.url, 'http://127.0.0.1:9903/admin/spend?tenant=a+%26+b%3F%23&from=2026-11-01&to=2026-11-30');
  assert.equal(list.body, null);
  assert.equal(list.headers['content-type'], undefined, 'what has no body has no type of it');
  assert.match(prepared('spend.read', { from: 'a', to: 'b', format: 'csv' }).headers['accept'] ?? '', /^text\/csv/);
  assert.equal(
    prepared('status.read', {}, '', 'https://x.example/gate/admin/docs#a').url,
    'https://x.example/gate/admin/status',
  );
});

test('what cannot be sent is told by field', () => {
  assert.deepEqual(faults('key.delete', { 'Idempotency-Key': 'a\nx: y', 'If-Match': '' }), {
    id: 'This is needed.',
    'Idempotency-Key': 'A header holds letters, digits and signs of ASCII only.',
    'If-Match': 'This is needed.',
  });
  assert.deepEqual(Object.keys(faults('tenant.get', { tenant: '..' })), ['tenant']);
  assert.deepEqual(Object.keys(faults('tenant.get', { tenant: '\ud800' })), ['tenant']);
  for (const body of ['', '{', '[]', '1', 'null'])
    assert.deepEqual(Object.keys(faults('key.create', { 'Idempotency-Key': 'k' }, body)), ['body'], body);
});

test('whatever is typed, the request goes to that path of that server', () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 });
  fc.assert(
    fc.property(fc.constantFrom(...OPERATIONS), fc.func(text), (each, type) => {
      const values = Object.fromEntries(each.parameters.map(({ name }) => [name, type(name)]));
      const result = prepare(each, { values, body: '{}' }, BASE);
      if (!result.ok) return;
      const { origin, pathname, hash } = new URL(result.request.url);
      assert.equal(origin, 'http://127.0.0.1:9903');
      assert.equal(hash, '');
      const params = paramsOf(each.path, pathname);
      assert.ok(params !== null, pathname);
      for (const [name, value] of Object.entries(params)) assert.equal(value, (values[name] ?? '').trim());
    }),
    { numRuns: 500 },
  );
});

/** What a shell hands to `curl`. */
function argumentsOf(line: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\nTOKENLAT_ADMIN_TOKEN='the token'\n${line}\n`;
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', env: {} }).split('\0').slice(0, -1);
}

test('a shell takes nothing of the line for its own', () => {
  const sign = fc.constantFrom(
    ...Array.from(`'"\\$\`!;&|<>(){}[]*?~#%=@ \n\t-`),
    "'; touch x; '",
    '$(id)',
    '`id`',
    'a',
    'é',
    '😀',
  );
  const text = fc.array(sign, { maxLength: 20 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, text, text, text, (url, key, body, method) => {
      const request: Prepared = { method, url: `http://x/${url}`, headers: { 'Idempotency-Key': key }, body };
      assert.deepEqual(argumentsOf(curlOf(request)), [
        '--request',
        method,
        `http://x/${url}`,
        '--header',
        'Authorization: Bearer the token',
        '--header',
        `Idempotency-Key: ${key}`,
        '--data-raw',
        body,
      ]);
    }),
    { numRuns: 150 },
  );
  assert.equal(quoted(''), "''");
  assert.equal(quoted("it's"), String.raw`'it'\''s'`);
});

test('paths and their templates', () => {
  assert.equal(recordOf('/admin/keys/{id}/rotate'), '/admin/keys/{id}');
  assert.equal(recordOf('/admin/keys'), '');
  assert.equal(fill('/admin/tenants/{tenant}', { values: { tenant: 'a b' }, body: '' }), '/admin/tenants/a%20b');
  assert.equal(fill('/admin/tenants/{tenant}', { values: {}, body: '' }), null);
  assert.deepEqual(paramsOf('/admin/tenants/{tenant}', '/admin/tenants/a%20b'), { tenant: 'a b' });
  assert.equal(paramsOf('/admin/tenants/{tenant}', '/admin/tenants/a/lines'), null);
  assert.equal(paramsOf('/admin/tenants/{tenant}', '/admin/tenants/%zz'), null);
});
