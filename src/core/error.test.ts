import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type ErrorCode, ERRORS, GatewayError } from './error.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];

/** Types that OpenAI's own clients and their users know, and the two that tell an upstream's fault. */
const TYPES = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'rate_limit_error',
  'insufficient_quota',
  'server_error',
  'timeout',
  'upstream_error',
  'overloaded_error',
]);

test('every code has an error status, a known type and a source', () => {
  for (const code of CODES) {
    const { status, type, source } = ERRORS[code];
    assert.ok(Number.isInteger(status) && status >= 400 && status <= 599, code);
    assert.ok(TYPES.has(type), `${code}: ${type}`);
    assert.equal(source, code.startsWith('upstream_') ? 'model_service' : 'gateway', code);
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
  }
});

test('a fault of the client is not worth sending again, a fault of ours is', () => {
  for (const code of CODES) {
    const { status, retryable, source, type } = ERRORS[code];
    if (type === 'invalid_request_error' || type === 'authentication_error' || type === 'permission_error') {
      assert.equal(retryable, false, code);
      assert.ok(status < 500, code);
    }
    if (source === 'gateway' && status >= 500) assert.equal(retryable, true, code);
  }
});

test('codes of one status have the type that belongs to it', () => {
  for (const code of CODES) {
    const { status, type } = ERRORS[code];
    assert.equal(status === 401, type === 'authentication_error', code);
    assert.equal(status === 403, type === 'permission_error', code);
    if (status === 504 || status === 408) assert.equal(type, 'timeout', code);
    if (status === 429) assert.ok(type === 'rate_limit_error' || type === 'insufficient_quota', code);
  }
});

test("an error is OpenAI's object with all four members and nothing else", () => {
  fc.assert(
    fc.property(fc.constantFrom(...CODES), fc.string(), fc.option(fc.string()), (code, message, param) => {
      const error = new GatewayError(code, message, { param, cause: new Error('private'), original: 'private' });
      const body = JSON.parse(JSON.stringify(error)) as unknown;
      assert.deepEqual(body, { error: { message, type: ERRORS[code].type, param, code } });
    }),
  );
});

test('status and type follow the table unless told otherwise', () => {
  for (const code of CODES) {
    const error = new GatewayError(code, 'x');
    assert.deepEqual(
      [
        error.status,
        error.type,
        error.retryable,
        error.source,
        error.headers,
        error.retryAfterMs,
        error.original,
        error.param,
      ],
      [ERRORS[code].status, ERRORS[code].type, ERRORS[code].retryable, ERRORS[code].source, [], null, null, null],
    );
  }
  const told = new GatewayError('upstream_rejected', 'x', { status: 422, type: 'overloaded_error', retryAfterMs: 0 });
  assert.deepEqual([told.status, told.type, told.retryAfterMs], [422, 'overloaded_error', 0]);
});

test('from keeps our errors and hides everything else', () => {
  const ours = new GatewayError('no_candidate', 'x');
  assert.equal(GatewayError.from(ours), ours);
  fc.assert(
    fc.property(fc.anything(), (thrown) => {
      const error = GatewayError.from(thrown);
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, 'internal_error');
      assert.equal(error.status, 500);
      assert.ok(Object.is(error.cause, thrown), 'the cause is kept for the log');
      assert.equal(error.message, 'The gateway failed to handle this request.');
    }),
  );
  assert.doesNotMatch(JSON.stringify(GatewayError.from(new Error('redis://:password@host'))), /password/);
});
