import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BodyPieces } from '../../core/body-pieces.ts';
import { encodeInPieces, encodeProcessingResponse, type ProcessingResponse } from './processing-response.ts';

const size = fc.constantFrom(0, 1, 100, 16_383, 16_384, 40_000);

test('an answer in pieces has the same bytes, whatever pieces its body is in', () => {
  fc.assert(
    fc.property(fc.array(size, { maxLength: 4 }), fc.boolean(), fc.boolean(), (sizes, clearRouteCache, isTold) => {
      const pieces = sizes.map((length, at) => Buffer.alloc(length, 97 + at));
      const answer = (bytes: Buffer | BodyPieces): ProcessingResponse => ({
        kind: 'request_headers',
        change: { replace: true, set: [['a', 'b']], body: { kind: 'whole', bytes }, clearRouteCache },
        ...(isTold ? { metadata: { space: { key: 'value' } } } : {}),
      });
      const whole = encodeProcessingResponse(answer(Buffer.concat(pieces)));
      assert.deepEqual(Buffer.concat(encodeInPieces(answer(new BodyPieces(pieces)))), whole);
      assert.deepEqual(Buffer.concat(encodeInPieces(answer(Buffer.concat(pieces)))), whole);
    }),
    { numRuns: 200 },
  );
});

test('a large body is passed on, a small one copied', () => {
  const isPassed = (length: number): boolean => {
    const bytes = Buffer.alloc(length);
    const out = encodeInPieces({ kind: 'response_body', change: { body: { kind: 'piece', bytes, end: true } } });
    bytes.fill('x');
    return Buffer.concat(out).includes('x');
  };
  assert.equal(isPassed(100_000), true);
  assert.equal(isPassed(1000), false);
});
