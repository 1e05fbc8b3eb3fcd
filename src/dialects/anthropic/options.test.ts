import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnthropicOptions } from './options.ts';

test('the version has a default', () => {
  assert.deepEqual(readAnthropicOptions({}), { version: '2023-06-01' });
  assert.deepEqual(readAnthropicOptions({ version: '2026-01-31' }), { version: '2026-01-31' });
});

test('odd options say what is wrong', () => {
  for (const [options, cause] of [
    [{ version: '1' }, /version must be a date/],
    [{ version: 2023 }, /version must be a date/],
    [{ key: 'x' }, /key is not an option of anthropic/],
  ] as const) {
    assert.throws(
      () => readAnthropicOptions(options),
      (error: Error) => cause.test(String(error.cause)),
    );
  }
});
