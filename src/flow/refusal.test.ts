import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import { attemptOf, bench, clientDialect, configOf, contextOf, deploymentOf, headOf } from './flow-kit.test.ts';
import { Closing } from './closing.ts';
import { createRefusal } from './refusal.ts';
import type { GrowingContext } from './walk.ts';

const refusal = createRefusal(clientDialect);
const error = new GatewayError('no_candidate', 'Nobody.', { retryAfterMs: 1500 });
const names = (headers: readonly (readonly [string, string])[]) => Object.fromEntries(headers);

test('a head that made no sense is answered with the id that it brought, where that is fit', () => {
  const config = configOf();
  const { status, headers, body, details } = refusal({ head: headOf([['x-request-id', 'mine']]), config }, error);
  assert.deepEqual([status, details], [503, 'no_candidate']);
  assert.deepEqual(names(headers), {
    'content-type': 'application/json',
    'x-request-id': 'mine',
    'x-error-source': 'gateway',
    'retry-after': '2',
  });
  assert.deepEqual(JSON.parse(Buffer.from(body).toString()), error.toJSON());
  for (const head of [null, headOf(), headOf([['x-request-id', 'a\nb']])]) {
    assert.equal(names(refusal({ head, config }, error).headers)['x-request-id'], undefined);
  }
});

test('a request that is known is answered with what is known of it by then', () => {
  const ctx = contextOf() as GrowingContext;
  const { decision: _, ...early } = ctx;
  assert.deepEqual(Object.keys(names(refusal(early, error).headers)).includes('x-route-id'), false);
  const closing = new Closing(bench().options, ctx);
  closing.attempts.start(attemptOf(deploymentOf('a'), 1, false));
  closing.attempts.start(attemptOf(deploymentOf('b'), 2));
  const headers = names(refusal(ctx, error, closing).headers);
  assert.deepEqual(
    [headers['x-request-id'], headers['x-route-id'], headers['x-tokenlat-backend'], headers['x-tokenlat-attempts']],
    ['shown', 'r', 'b', '2'],
  );
});
