import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ClientDialect } from '../../core/dialect.ts';
import { type ErrorCode, ERRORS, GatewayError } from '../../core/error.ts';
import { errorHeaders, errorResponse } from './error-response.ts';

const dialect = { error: (error: GatewayError) => Buffer.from(JSON.stringify(error)) } as ClientDialect;
const named = (error: GatewayError) => Object.fromEntries(errorHeaders(error));
const CODES = Object.keys(ERRORS) as ErrorCode[];

test('an error becomes an answer with its status, its body and who is at fault', () => {
  for (const code of CODES) {
    const error = new GatewayError(code, 'Words.');
    const { status, headers, body, details } = errorResponse(dialect, error, [['x-request-id', 'mine']]);
    assert.deepEqual([status, details], [ERRORS[code].status, code]);
    assert.deepEqual(JSON.parse(Buffer.from(body).toString()), error.toJSON());
    const all = Object.fromEntries(headers);
    assert.deepEqual(
      [all['content-type'], all['x-request-id'], all['x-error-source']],
      ['application/json', 'mine', error.source],
    );
    assert.equal(all['x-timeout-reason'], code === 'upstream_timeout' ? 'upstream_timeout' : undefined);
  }
});

test("an upstream's own body passes unchanged", () => {
  const raw = Buffer.from('{"error": {"message": "theirs"}}');
  assert.equal(errorResponse(dialect, new GatewayError('upstream_rejected', 'x', { status: 422 }), [], raw).body, raw);
});

test('a wait is told in whole seconds, rounded up and never zero', () => {
  const wait = (retryAfterMs: number) =>
    named(new GatewayError('rate_limit_exceeded', 'x', { retryAfterMs }))['retry-after'];
  assert.deepEqual([wait(0), wait(1), wait(1000), wait(1001), wait(59_999)], ['1', '1', '1', '2', '60']);
  assert.equal(named(new GatewayError('rate_limit_exceeded', 'x'))['retry-after'], undefined);
});

test("an error's own header stands, once", () => {
  const error = new GatewayError('upstream_rate_limited', 'x', { retryAfterMs: 9000, headers: [['retry-after', '3']] });
  assert.deepEqual(
    errorHeaders(error).filter(([name]) => name === 'retry-after'),
    [['retry-after', '3']],
  );
});

test("an upstream's words go into one clean, bounded header without secrets", () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 6000 }), (original) => {
      const value = named(new GatewayError('upstream_error', 'x', { original }))['x-original-error'] ?? '';
      assert.match(value, /^[\x20-\x7e]{0,256}$/);
    }),
  );
  const original = 'Incorrect API key provided: sk-abcdefgh12345678.\r\nset-cookie: a';
  const told = named(new GatewayError('upstream_auth_failed', 'x', { original }))['x-original-error'];
  assert.equal(told, 'Incorrect API key provided: ***.??set-cookie: a');
  assert.equal(named(new GatewayError('upstream_error', 'x'))['x-original-error'], undefined);
});
