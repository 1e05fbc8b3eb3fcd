import assert from 'node:assert/strict';
import test from 'node:test';
import { GatewayError } from '../../core/error.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { cleanError } from './clean-error.ts';

const config = {
  backends: new Map([
    ['a', { credentials: [['authorization', 'Bearer plain-words-as-a-key']] }],
    ['b', { credentials: [['x-api-key', 'ab']] }],
  ]),
} as unknown as Snapshot;

const raw = (message: string): Buffer => Buffer.from(JSON.stringify({ error: { message, type: 'x' } }));

test('an upstream that quotes our key does not pass it on, in message, original or body', () => {
  for (const secret of ['plain-words-as-a-key', 'Bearer plain-words-as-a-key', 'sk-proj-abcdefghijkl1234']) {
    const told = new GatewayError('upstream_rejected', `Incorrect key: ${secret}.`, {
      original: `{"m":"${secret}"}`,
      status: 422,
      param: 'model',
      retryAfterMs: 7,
    });
    const { error, raw: body } = cleanError(told, raw(`Incorrect key: ${secret}.`), config);
    assert.equal(error.message, 'Incorrect key: ***.');
    assert.equal(error.original, '{"m":"***"}');
    assert.deepEqual([error.status, error.param, error.retryAfterMs], [422, 'model', 7]);
    assert.equal(body, undefined);
  }
});

test('nor in type or param, and however JSON spells it', () => {
  const secret = 'plain-words-as-a-key';
  const spelled = `\\u0070lain-words-as-a-\\u006Bey`;
  const told = new GatewayError('upstream_rejected', 'no', {
    original: `{"m":"${spelled}"}`,
    param: secret,
    type: secret,
  });
  const { error, raw: body } = cleanError(told, Buffer.from(`{"error":{"message":"${spelled}"}}`), config);
  assert.deepEqual([error.param, error.type, error.original, body], ['***', '***', '{"m":"***"}', undefined]);
  const innocent = Buffer.from('{"error":{"message":"caf\\u00e9"}}');
  assert.equal(cleanError(new GatewayError('upstream_rejected', 'no'), innocent, config).raw, innocent);
});

test('an innocent error passes as it is, short credentials blot out nothing', () => {
  const told = new GatewayError('upstream_rejected', 'about cabs: context length exceeded');
  const body = raw('about cabs: context length exceeded');
  const { error, raw: kept } = cleanError(told, body, config);
  assert.equal(error, told);
  assert.equal(kept, body);
});

test('a body too large to be read through is not passed', () => {
  const { raw: kept } = cleanError(new GatewayError('upstream_rejected', 'x'), Buffer.alloc(65 * 1024, 0x61), config);
  assert.equal(kept, undefined);
});
