import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../api-error.ts';
import { cliKit } from '../cli-kit.test.ts';
import { quotaCommand } from './quota.ts';

let used = 30;
const kit = await cliKit({
  quota: {
    peek: async (_, lines) =>
      lines.map((line) => ({ line, remaining: Math.max(0, line.limit - used), resetMs: 5_400_000 })),
  },
});

test('limits are shown with what is used, left and a bar', async () => {
  const { out, error } = await kit.run(quotaCommand, ['show', 'acme', '--subject', 'ann']);
  assert.equal(error, null);
  assert.match(out, /^tokens_per_day +tenant +30 +100 +70 +\[#{6}\.{14}\] +30 % +1h 30m$/m);
  assert.match(out, /^concurrent_requests +subject:ann +3 +3 +0 +\[#{20}\] +100 %/m);
});

test('line, key, subject and model reach the API by their names', async () => {
  const key = 'key_00000000000000000001';
  const words = ['--line', 'ads', '--key', key, '--subject', 'ann', '--model', 'gpt'];
  await kit.run(quotaCommand, ['show', 'acme', ...words]);
  const asked = new URL(kit.seen.at(-1)?.url ?? '', 'http://x').searchParams;
  assert.deepEqual(Object.fromEntries(asked), {
    tenant: 'acme',
    business_line: 'ads',
    key,
    subject: 'ann',
    model: 'gpt',
  });
});

test('programs get times and figures as they are', async () => {
  const { out } = await kit.run(quotaCommand, ['show', 'acme', '--csv']);
  assert.equal(
    out,
    'name,scope,used,limit,remaining,reset_at\r\ntokens_per_day,tenant,30,100,70,2026-11-30T11:30:00.000Z\r\n',
  );
  assert.equal((await kit.run(quotaCommand, ['show', 'acme', '--json'])).json()['tenant'], 'acme');
});

test('watching draws over the same place until it is stopped', async () => {
  const stop = new AbortController();
  let drawn = '';
  const out = (text: string): void => {
    drawn += text;
    used = 60;
    if (drawn.split('tokens_per_day').length > 2) stop.abort();
  };
  const started = performance.now();
  const { error } = await kit.run(quotaCommand, ['show', 'acme', '--watch'], {
    out,
    screen: true,
    stopped: stop.signal,
  });
  assert.equal(error, null);
  assert.ok(performance.now() - started >= 900);
  const frames = drawn.split('\u001b[H\u001b[J').slice(1);
  assert.equal(frames.length, 2);
  assert.match(frames[0] ?? '', / 30 % /);
  assert.match(frames[1] ?? '', / 60 % /);
});

test('watching ends with the first refusal', async () => {
  const { error } = await kit.run(quotaCommand, ['show', 'acme', '--watch'], { as: 'viewer@globex' });
  assert.ok(error instanceof ApiError);
  assert.equal(error.exitCode, 5);
});
