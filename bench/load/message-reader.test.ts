import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MessageReader } from './message-reader.ts';

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const chunked =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n';
const empty = 'HTTP/1.1 204 No Content\r\n\r\n';

test('a message ends where it ends, wherever it is cut', () => {
  const cases = fc.constantFrom(plain, chunked, empty);
  fc.assert(
    fc.property(cases, fc.array(fc.nat(200), { maxLength: 8 }), (text, cuts) => {
      const reader = new MessageReader();
      const bytes = Buffer.from(text);
      const edges = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
      const ends = edges.slice(1).map((edge, at) => reader.push(bytes.subarray(edges[at], edge)));
      assert.equal(ends.at(-1), true);
      const early = ends.slice(0, -1).findIndex((end, at) => end && (edges[at + 1] ?? 0) < bytes.length);
      assert.equal(early, -1);
      assert.ok(text.startsWith(reader.head));
    }),
  );
});

test('the start of the body is kept, and a reader can be used again', () => {
  const reader = new MessageReader();
  assert.equal(reader.push(Buffer.from(chunked)), true);
  assert.match(reader.start, /^5\r\nhello/);
  reader.reset();
  assert.equal(reader.push(Buffer.from(plain)), true);
  assert.equal(reader.start, 'hello');
  assert.equal(reader.bodyBytes, 5);
});
