import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../core/error.ts';
import { BodyBuffer } from './body-buffer.ts';

test('a body is the same in whatever pieces it came', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 10 }), (pieces) => {
      const body = new BodyBuffer(1000);
      for (const piece of pieces) body.add(Buffer.from(piece));
      assert.deepEqual(body.whole(), Buffer.concat(pieces));
      assert.deepEqual(body.whole(), Buffer.concat(pieces), 'again');
    }),
  );
});

test('the limit counts over all pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 10 }), fc.nat(200), (sizes, limit) => {
      const body = new BodyBuffer(limit);
      let size = 0;
      for (const each of sizes) {
        size += each;
        if (size <= limit) body.add(Buffer.alloc(each));
        else
          assert.throws(
            () => body.add(Buffer.alloc(each)),
            (error) => error instanceof GatewayError && error.code === 'request_too_large',
          );
        if (size > limit) return;
      }
      assert.equal(body.whole().length, size);
    }),
  );
});

test('a body that came in one piece is not copied', () => {
  const body = new BodyBuffer(10);
  const piece = Buffer.from('one');
  body.add(Buffer.alloc(0));
  body.add(piece);
  assert.equal(body.whole(), piece);
});

test('memory of large pieces is given back once they are joined, that of what shares some with others is not', () => {
  const large = 100_000;
  const buffer = new BodyBuffer(10 * large);
  const own = Buffer.allocUnsafeSlow(large + 8).fill('a');
  const shared = Buffer.allocUnsafeSlow(3 * large).fill('b');
  const small = Buffer.from('small');
  for (const piece of [own.subarray(8), shared.subarray(0, large), small]) buffer.add(piece);
  const whole = buffer.whole();
  assert.equal(whole.toString(), `${'a'.repeat(large)}${'b'.repeat(large)}small`);
  assert.deepEqual([own.length, shared.length, small.length], [0, 3 * large, 5]);
  assert.equal(buffer.whole(), whole, 'again');
});

test('a body in one piece is that piece', () => {
  const buffer = new BodyBuffer(1000);
  const piece = Buffer.from('all');
  buffer.add(piece);
  buffer.add(Buffer.alloc(0));
  assert.equal(buffer.whole(), piece);
});
