import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from './api-error.ts';
import { UserError } from './user-error.ts';
import { watch } from './watch.ts';

async function watched(...frames: readonly (string | Error)[]) {
  const stop = new AbortController();
  let out = '';
  let at = 0;
  const draw = async (): Promise<string> => {
    const frame = frames[at] ?? '';
    at += 1;
    if (at >= frames.length) stop.abort();
    if (frame instanceof Error) throw frame;
    return frame;
  };
  const terminal = { out: (text: string) => void (out += text), screen: false, stopped: stop.signal };
  const error = await watch(terminal, draw, 1).then(
    () => null,
    (reason: unknown) => reason,
  );
  return { out, error };
}

test('where there is no screen, frames follow each other', async () => {
  assert.deepEqual(await watched('a\n', 'b\n'), { out: 'a\n\nb\n', error: null });
});

test('what passes by itself is shown instead, the rest is thrown', async () => {
  const busy = new ApiError(429, { error: { code: 'rate_limit_exceeded', message: 'Wait.' } });
  const { out, error } = await watched('a\n', busy, new UserError('away'), 'b\n');
  assert.equal(error, null);
  assert.equal(out, 'a\n\nrate_limit_exceeded (HTTP 429): Wait.\n\naway\n\nb\n');
  const no = new ApiError(403, { error: { code: 'role_required', message: 'No.' } });
  assert.equal((await watched('a\n', no, 'b\n')).error, no);
});

test('what fails at the first sight is thrown', async () => {
  const away = new UserError('away');
  assert.equal((await watched(away, 'a\n')).error, away);
});
