import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../api-error.ts';
import { cliKit, runCommand } from '../cli-kit.test.ts';
import { keysCommand } from './keys.ts';

const kit = await cliKit();

test('the secret of a new key is told once, with a warning on the error stream', async () => {
  const made = await kit.run(keysCommand, [
    'create',
    'ci',
    '--tenant',
    'acme',
    '--models',
    'a,b*',
    '--tag',
    'team=x',
    '--limit',
    'tokens/day=1000,zone=Europe/Berlin',
    '--limit',
    'spend/month=12.5',
    '--expires',
    '30d',
  ]);
  assert.equal(made.error, null);
  const secret = /^secret +(sk-tl-[\w-]{43})$/m.exec(made.out)?.[1];
  assert.ok(secret !== undefined, made.out);
  assert.match(made.err, /shown this once/);
  assert.ok(!made.err.includes(secret));
  const id = /^id +(key_[0-9a-f]{20})$/m.exec(made.out)?.[1] ?? '';
  const stored = await kit.directory.get('key', id);
  assert.deepEqual(stored?.models, ['a', 'b*']);
  assert.deepEqual(stored?.tags, { team: 'x' });
  assert.deepEqual(
    stored?.limits.map(({ limit }) => limit),
    [1000, 12_500_000],
  );
  assert.equal(stored?.expiresAt, Date.parse('2026-12-30T10:00:00Z'));
  for (const words of [['list'], ['show', id], ['list', '--json'], ['show', id, '--csv']]) {
    const { out, error } = await kit.run(keysCommand, words);
    assert.equal(error, null);
    assert.ok(out.includes(id) && !out.includes(secret), words.join(' '));
  }
  const { out } = await kit.run(keysCommand, ['show', id]);
  assert.match(out, /^limits +tokens\/day=1000,zone=Europe\/Berlin spend\/month=12\.5$/m);
});

test('each write has an Idempotency-Key of its own, and what changes a version names it', async () => {
  const { json } = await kit.run(keysCommand, ['create', 'k', '--tenant', 'acme', '--json']);
  const { id, secret } = json() as { id: string; secret: string };
  const rotated = await kit.run(keysCommand, ['rotate', id, '--grace', '1h', '--json']);
  assert.notEqual(rotated.json()['secret'], secret);
  assert.match(String(rotated.json()['secret']), /^sk-tl-/);
  assert.equal(rotated.json()['previous_until'], '2026-11-30T11:00:00.000Z');
  assert.equal((await kit.run(keysCommand, ['revoke', id, '--json'])).json()['status'], 'revoked');
  const gone = await kit.run(keysCommand, ['delete', id]);
  assert.deepEqual([gone.error, gone.out], [null, '']);
  assert.equal(await kit.directory.get('key', id), null);
  const writes = kit.seen.filter(({ method }) => method !== 'GET');
  const keys = writes.map(({ headers }) => headers['idempotency-key']);
  assert.equal(new Set(keys).size, keys.length);
  const matches = writes.slice(-3).map(({ headers }) => headers['if-match']);
  assert.deepEqual(matches, ['"1"', undefined, '"3"']);
});

test('a list is whole, however many pages it has', async () => {
  for (let at = 0; at < 3; at += 1) await kit.run(keysCommand, ['create', `p${at}`, '--tenant', 'globex']);
  const before = kit.seen.length;
  const { json } = await kit.run(keysCommand, ['list', '--tenant', 'globex', '--json']);
  assert.equal((json()['data'] as unknown[]).length, 3);
  assert.match(kit.seen[before]?.url ?? '', /limit=200&tenant=globex/);
});

test('CSV has a head, quotes and no formulas', async () => {
  await kit.run(keysCommand, ['create', '=1+1,"x"', '--tenant', 'globex', '--subject', 's']);
  const { out } = await kit.run(keysCommand, ['list', '--tenant', 'globex', '--csv']);
  const [head, ...rows] = out.trimEnd().split('\r\n');
  assert.equal(head, 'id,name,tenant,subject,status,hint,expires_at');
  assert.ok(
    rows.some((row) => row.includes(`,"'=1+1,""x""",globex,s,active,`)),
    out,
  );
});

test('refusals keep their code, in one line, and set the exit code', async () => {
  const cases = [
    [['list'], 'nobody-has-this-token-0123456789', 'invalid_credentials', 5],
    [['create', 'x', '--tenant', 'acme'], 'viewer', 'role_required', 5],
    [['list', '--tenant', 'acme'], 'admin@globex', 'tenant_not_allowed', 5],
    [['show', 'key_00000000000000000000'], 'admin', 'not_found', 1],
    [['create', 'x', '--tenant', 'acme', '--line', 'nowhere'], 'admin', 'invalid_value', 2],
  ] as const;
  for (const [words, as, code, exit] of cases) {
    const { error, out } = await kit.run(keysCommand, words, { as });
    assert.ok(error instanceof ApiError, words.join(' '));
    assert.deepEqual([error.code, error.exitCode, out], [code, exit, '']);
    assert.match(error.message, new RegExp(`^${code} \\(HTTP ${error.status}\\): [^\\n]+$`));
  }
});

test('without a token, or with an odd address, nothing is sent', async () => {
  const before = kit.seen.length;
  const token = 'a-token-that-would-leak-0123456789';
  const cases = [
    [{ TOKENLAT_ADMIN_URL: kit.url }, /no admin token/],
    [{ TOKENLAT_ADMIN_URL: 'http://gateway.example:9903', TOKENLAT_ADMIN_TOKEN: token }, /in the clear: use https/],
    [{ TOKENLAT_ADMIN_URL: kit.url.replace('//', '//a:b@'), TOKENLAT_ADMIN_TOKEN: token }, /without credentials/],
    [{ TOKENLAT_ADMIN_URL: 'not a url', TOKENLAT_ADMIN_TOKEN: token }, /not a URL/],
    [
      { TOKENLAT_ADMIN_URL: 'http://127.0.0.1:9', TOKENLAT_ADMIN_TOKEN: token },
      /does not answer at http:\/\/127\.0\.0\.1:9/,
    ],
  ] as const;
  for (const [env, message] of cases) {
    const { error } = await runCommand(keysCommand, ['list'], { env });
    assert.match(error?.message ?? '', message);
    assert.ok(!error?.message.includes(token));
  }
  assert.equal(kit.seen.length, before);
});

test('odd words are told before anything is sent', async () => {
  const before = kit.seen.length;
  for (const words of [
    ['create', 'x'],
    ['create', 'x', '--tenant', 'a', '--limit', 'tokens/day'],
    ['create', 'x', '--tenant', 'a', '--tag', 'novalue'],
    ['rotate', 'key_1', '--grace', 'soon'],
    ['list', '--json', '--csv'],
    ['list', '--token', 'x'],
  ]) {
    const { error } = await kit.run(keysCommand, words);
    assert.equal(error?.name, 'CommanderError', words.join(' '));
  }
  assert.equal(kit.seen.length, before);
});
