import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../core/error.ts';
import { refuseCoding, targetOf } from './endpoints.ts';
import { headOf } from './flow-kit.test.ts';

const target = (path: string, method = 'POST') => targetOf(headOf([], { path, method }));
const refusal = (code: string) => (error: unknown) => error instanceof GatewayError && error.code === code;

test('the endpoints with a model behind them take POST, with any query', () => {
  for (const [path, endpoint] of [
    ['/v1/chat/completions', 'chat'],
    ['/v1/completions', 'completions'],
    ['/v1/embeddings', 'embeddings'],
  ] as const) {
    assert.deepEqual(target(path), { kind: 'model', endpoint });
    assert.deepEqual(target(`${path}?api-version=1&x=/v1/models`), { kind: 'model', endpoint });
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'post', 'HEAD', '']) {
      assert.throws(
        () => target(path, method),
        (error) => {
          assert.ok(error instanceof GatewayError && error.code === 'method_not_allowed' && error.status === 405);
          assert.deepEqual(error.headers, [['allow', 'POST']]);
          return true;
        },
      );
    }
  }
});

test('models are listed and shown by GET alone, names decoded once', () => {
  assert.deepEqual(target('/v1/models', 'GET'), { kind: 'list-models' });
  assert.deepEqual(target('/v1/models?limit=1', 'GET'), { kind: 'list-models' });
  assert.deepEqual(target('/v1/models/meta%2Fllama%203', 'GET'), { kind: 'show-model', model: 'meta/llama 3' });
  assert.deepEqual(target('/v1/models/meta/llama', 'GET'), { kind: 'show-model', model: 'meta/llama' });
  assert.deepEqual(target('/v1/models/a%2525', 'GET'), { kind: 'show-model', model: 'a%25' });
  assert.throws(() => target('/v1/models/x', 'DELETE'), refusal('method_not_allowed'));
  assert.throws(() => target('/v1/models', 'POST'), refusal('method_not_allowed'));
});

test('a name whose percent-encoding is broken is refused, not thrown about', () => {
  for (const odd of ['%', '%2', '%zz', '%ff', '%c0%af', '%ed%a0%80']) {
    assert.throws(() => target(`/v1/models/${odd}`, 'GET'), refusal('invalid_path'), odd);
  }
});

test('fine-tuning is known and disabled, by any method', () => {
  assert.deepEqual(target('/v1/fine_tuning/jobs'), { kind: 'disabled', path: '/v1/fine_tuning/jobs' });
  assert.deepEqual(target('/v1/fine-tunes?x', 'GET'), { kind: 'disabled', path: '/v1/fine-tunes' });
});

test('everything else is unknown', () => {
  const unknown = [
    '',
    '/',
    '?',
    '/v1',
    '/v1/',
    '/v1/chat/completions/',
    '/V1/chat/completions',
    '/v1/chat%2fcompletions',
  ];
  for (const path of [...unknown, '//v1/chat/completions', '/v1/modelsx', '/v1/responses', '__proto__', 'toString']) {
    assert.throws(() => target(path), refusal('unknown_endpoint'), path);
  }
});

test('who asks for what is not served hears of all that is', () => {
  assert.throws(
    () => target('/v1/responses'),
    (error: Error) => {
      const told = error.message.match(/\/v1\/[a-z/]*[a-z]/g);
      assert.deepEqual(told, ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/models', '/v1/jobs']);
      return true;
    },
  );
});

test('no path makes anything but a target or one of our refusals', () => {
  const piece = fc.constantFrom(
    '/v1',
    '/models',
    '/',
    '%',
    '%2F',
    '?',
    'chat',
    '/completions',
    '..',
    '\0',
    'ü',
    '__proto__',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((all) => all.join('')),
      ),
      fc.constantFrom('GET', 'POST'),
      (path, method) => {
        try {
          assert.ok(['model', 'list-models', 'show-model', 'disabled'].includes(target(path, method).kind));
        } catch (error) {
          assert.ok(error instanceof GatewayError && error.status < 500, String(error));
        }
      },
    ),
  );
});

test('a body that is coded is refused before it is read, one that is not passes', () => {
  for (const fit of [[], [['content-encoding', '']], [['content-encoding', ' Identity ']]] as const)
    refuseCoding(headOf(fit));
  for (const coding of ['gzip', 'br', 'zstd', 'GZIP', 'identity, gzip', 'gzip, identity', 'x']) {
    assert.throws(
      () => refuseCoding(headOf([['content-encoding', coding]])),
      refusal('unsupported_content_encoding'),
      coding,
    );
  }
  const split = headOf([
    ['content-encoding', 'identity'],
    ['content-encoding', 'gzip'],
  ]);
  assert.throws(() => refuseCoding(split), refusal('unsupported_content_encoding'));
});
