import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { frame } from '../../../test/support/raw-grpc-frames.ts';
import { STATUS } from './call.ts';
import { MessageReader } from './message-reader.ts';

/** Every message of the pieces, in order; stops at a fault. */
function readAll(reader: MessageReader, pieces: readonly Buffer[]): Buffer[] {
  const messages: Buffer[] = [];
  for (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      at = reader.read(piece, at, piece.length);
      if (reader.fault !== null) return messages;
      if (reader.message !== null) messages.push(reader.message);
    }
  }
  return messages;
}

test('messages come out as they went in, wherever their bytes are cut', () => {
  const size = fc.oneof(fc.nat(50), fc.nat(5000), fc.constantFrom(0, 65_535, 65_536, 65_537, 200_000));
  fc.assert(
    fc.property(fc.array(size, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 8 }), (sizes, cuts) => {
      const sent = sizes.map((length, index) => Buffer.alloc(length, index + 1));
      const bytes = Buffer.concat(sent.map((one) => frame(one)));
      const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
      const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      const reader = new MessageReader(200_000);
      const got = readAll(reader, pieces);
      assert.equal(got.length, sent.length);
      assert.ok(got.every((one, index) => one.equals(sent[index]!)));
      assert.equal(reader.isCut, false);
    }),
    { numRuns: 300 },
  );
});

test('byte by byte they come, too, and a cut one is known', () => {
  const reader = new MessageReader(100);
  const bytes = Buffer.concat([frame(Buffer.from('abc')), frame(Buffer.alloc(0)), frame(Buffer.from('d'))]);
  const pieces = Array.from(bytes, (byte) => Buffer.from([byte]));
  assert.deepEqual(readAll(reader, pieces).map(String), ['abc', '', 'd']);
  for (const rest of [Buffer.from([0]), frame(Buffer.from('abc')).subarray(0, 7)]) {
    const cut = new MessageReader(100);
    assert.deepEqual(readAll(cut, [rest]), []);
    assert.equal(cut.isCut, true);
  }
});

test('a message is a view of a small read, and a copy out of a large one, whose memory is given back', () => {
  const isView = (sizes: readonly number[]): readonly boolean[] => {
    const bytes = Buffer.concat(sizes.map((size) => frame(Buffer.alloc(size, 'x'))));
    const messages = readAll(new MessageReader(100_000), [bytes]);
    assert.deepEqual(
      messages.map(({ length }) => length),
      sizes,
    );
    bytes.fill('y');
    return messages.map((message) => message.includes('y'));
  };
  assert.deepEqual(isView([20_000, 100]), [false, false]);
  assert.deepEqual(isView([3000, 100]), [true, true]);
});

test('a prefix is judged before anything is set aside for its message', () => {
  const cases = [
    [frame(Buffer.alloc(1), 1), STATUS.unimplemented],
    [frame(Buffer.alloc(1), 2), STATUS.internal],
    [frame(Buffer.alloc(1), 0, 0xffffffff), STATUS.resourceExhausted],
    [frame(Buffer.alloc(1), 0, 101), STATUS.resourceExhausted],
  ] as const;
  for (const [bytes, code] of cases) {
    const reader = new MessageReader(100);
    reader.read(bytes, 0, bytes.length);
    assert.equal(reader.fault?.code, code);
    assert.equal(reader.message, null);
  }
});

test('what is set aside grows with what is here, not with what was announced', () => {
  const before = process.memoryUsage().arrayBuffers;
  const readers = Array.from({ length: 500 }, () => new MessageReader(1 << 30));
  for (const reader of readers) reader.read(frame(Buffer.alloc(1), 0, 1 << 30), 0, 6);
  assert.ok(process.memoryUsage().arrayBuffers - before < 500 * 100_000);
});
