import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API } from '../docs/docs-kit.test.ts';
import { fakeFetch } from './client-kit.test.ts';
import { DocsApp } from './docs-app.ts';

type Answers = Parameters<typeof fakeFetch>[0];
const KEY = 'key_00000000000000000001';

async function open(answer: Answers) {
  const { fetch, asked } = fakeFetch((url) =>
    url.pathname === '/admin/status' ? { body: { role: 'admin', tenant: null } } : answer(url),
  );
  let keys = 0;
  const said: string[] = [];
  const kept: (string | null)[] = [];
  const app = new DocsApp({
    fetch,
    base: 'http://x/admin/docs',
    document: API,
    session: { read: () => null, write: (token) => void kept.push(token) },
    time: () => 0,
    newKey: () => `made-${(keys += 1)}`,
    onChange: () => {},
    say: (text) => void said.push(text),
  });
  assert.ok(await app.signIn('the-token', false));
  asked.length = 0;
  const chosen = () => {
    const found = app.model().chosen;
    assert.ok(found !== null);
    return found;
  };
  return { app, asked, said, kept, chosen };
}

test('a write is sent when it is asked for twice, and what is changed in between must be confirmed anew', async () => {
  const { app, asked, chosen } = await open(() => ({
    status: 201,
    body: { secret: 's' },
    headers: { 'content-type': 'application/json' },
  }));
  app.choose('key.create');
  assert.equal(await app.send(), 'confirm');
  app.edit('body', '{"name":"a","tenant":"t"}');
  assert.equal(await app.send(), 'confirm');
  assert.equal(asked.length, 0);
  const key = chosen().form.values['Idempotency-Key'];
  assert.equal(await app.send(), 'answer');
  assert.equal(asked.length, 1);
  const headers = new Headers(asked[0]?.init.headers);
  assert.equal(headers.get('idempotency-key'), key);
  assert.equal(headers.get('authorization'), 'Bearer the-token');
  assert.equal(chosen().attempt.answer?.secret, 's');
  assert.doesNotMatch(chosen().curl ?? '', /the-token/);
  app.choose('key.list');
  app.choose('key.create');
  assert.equal(chosen().attempt.answer, null, 'a secret is gone when one has looked elsewhere');
});

test('the version that was seen last fills If-Match, for what is done with the record too', async () => {
  const { app, chosen } = await open(() => ({ body: {}, headers: { etag: '"7"' } }));
  app.choose('key.get');
  app.edit('id', KEY);
  await app.send();
  for (const name of ['key.update', 'key.rotate', 'key.delete']) {
    app.choose(name);
    assert.deepEqual([chosen().form.values['id'], chosen().form.values['If-Match']], [KEY, '"7"'], name);
  }
  app.edit('id', 'key_2');
  assert.equal(chosen().form.values['If-Match'], '', 'of another record no version is known');
});

test('after a fault the same key is sent again: the write may have been done', async () => {
  let status = 503;
  const { app, chosen, said } = await open(() => (status === 0 ? new Error('gone') : { status, body: {} }));
  app.choose('key.revoke');
  app.edit('id', KEY);
  const key = chosen().form.values['Idempotency-Key'];
  for (const next of [503, 0]) {
    status = next;
    await app.send();
    await app.send();
    assert.equal(chosen().form.values['Idempotency-Key'], key);
  }
  assert.match(said.at(-1) ?? '', /does not answer/);
  status = 404;
  await app.send();
  await app.send();
  assert.notEqual(chosen().form.values['Idempotency-Key'], key);
});

test('refusals stand at their field; 401 takes the token away', async () => {
  let answer = {
    status: 400,
    body: { error: { message: 'Too long.', param: 'tenant', code: 'invalid_value' } },
    headers: { 'content-type': 'application/json' },
  };
  const { app, chosen, kept } = await open(() => answer);
  app.choose('key.list');
  await app.send();
  assert.deepEqual(chosen().attempt.faults, { tenant: 'Too long.' });
  answer = { ...answer, status: 401 };
  await app.send();
  assert.equal(app.model().caller, null);
  assert.equal(app.model().signIn.problem?.kind, 'signed-out');
  assert.equal(kept.at(-1), null);
  assert.equal(await app.send(), 'token');
});

test('an answer for one who has signed out is not shown to the next', async () => {
  const { app, chosen } = await open(() => ({ body: { secret: 'x' } }));
  app.choose('key.list');
  const sent = app.send();
  app.signOut();
  await sent;
  assert.equal(chosen().attempt.answer, null);
});
