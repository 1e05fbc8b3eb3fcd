import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { SseLimitError } from './sse-limit-error.ts';
import { SseParser } from './sse-parser.ts';

const MAX = 1 << 20;

interface Seen {
  data: string;
  event: string;
  id: string;
}

function parse(chunks: readonly Buffer[], options: { end?: boolean; max?: number } = {}) {
  const events: Seen[] = [];
  const comments: string[] = [];
  const retries: number[] = [];
  const parser = new SseParser({
    maxEventBytes: options.max ?? MAX,
    onEvent: (data, event, id) => events.push({ data: data.toString(), event, id }),
    onComment: (text) => comments.push(text.toString()),
    onRetry: (milliseconds) => retries.push(milliseconds),
  });
  for (const chunk of chunks) parser.push(chunk);
  if (options.end === true) parser.end();
  return { events, comments, retries, work: parser.work };
}

const bytes = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));
const data = (result: { events: Seen[] }): string[] => result.events.map((event) => event.data);

test('any two line ends in a row end an event at once (SSE-01)', () => {
  for (const ending of ['\n\n', '\r\r', '\r\n\r\n', '\n\r\n', '\r\n\n', '\r\n\r', '\n\r', '\r\r\n']) {
    assert.deepEqual(data(parse(bytes(`data: x${ending}`))), ['x'], JSON.stringify(ending));
  }
});

test('a CRLF cut between two chunks is one line end (SSE-02)', () => {
  const result = parse(bytes('data: {"a":1,\r', '\ndata: "b":2}\r', '\n\r', '\ndata: [DONE]\r\n', '\r', '\n'));
  assert.deepEqual(data(result), ['{"a":1,\n"b":2}', '[DONE]']);
});

test('comments are told apart from data, with and without text (SSE-04)', () => {
  const result = parse(bytes(': one\n\n:\n\ndata: A\n\n: two\ndata: B\n\n:three\n'));
  assert.deepEqual(data(result), ['A', 'B']);
  assert.deepEqual(result.comments, ['one', '', 'two', 'three']);
});

test('blocks without data emit nothing (SSE-05)', () => {
  const result = parse(
    bytes('retry: 3000\n\nid: 7\nevent: message\n\nid: 8\ndata: x\n\nevent: ping\n\ndata: y\n\nretry: 3x\n\n'),
  );
  assert.deepEqual(result.events, [
    { data: 'x', event: '', id: '8' },
    { data: 'y', event: '', id: '8' },
  ]);
  assert.deepEqual(result.retries, [3000]);
});

test('a data field with no text is an event with empty data; names must match whole', () => {
  assert.deepEqual(data(parse(bytes('data\n\ndata:\n\ndata: \n\ndatab: x\n\ndat: x\n\nDATA: x\n\n data: x\n\n'))), [
    '',
    '',
    '',
  ]);
  assert.deepEqual(data(parse(bytes('data\ndata\n\n'))), ['\n']);
  assert.deepEqual(data(parse(bytes('data:  two\n\n'))), [' two']);
});

test('only LF and CR end lines (SSE-11)', () => {
  const text = 'a\u2028b\u2029c\u0085d\u000Be\u000Cf';
  assert.deepEqual(data(parse(bytes(`data: ${text}\n\n`))), [text]);
});

test('a last block without a blank line is emitted at a clean end', () => {
  assert.deepEqual(data(parse(bytes('data: a\n\ndata: b'), { end: true })), ['a', 'b']);
  assert.deepEqual(data(parse(bytes('data: a\n\ndata: b\n'), { end: true })), ['a', 'b']);
  assert.deepEqual(data(parse(bytes('data: a\n\ndata: b\n'))), ['a']);
});

test('an id with NUL is ignored; the event name lasts for one event', () => {
  const result = parse(bytes('id: 1\ndata: a\n\nid: 2\0\nevent: e\ndata: b\n\ndata: c\n\n'));
  assert.deepEqual(result.events, [
    { data: 'a', event: '', id: '1' },
    { data: 'b', event: 'e', id: '1' },
    { data: 'c', event: '', id: '1' },
  ]);
});

test('a byte order mark is dropped at the start alone, whatever the cut', () => {
  const body = Buffer.from('\uFEFFdata: a\n\n\uFEFFdata: b\n\ndata: c\n\n');
  for (let cut = 0; cut <= body.length; cut += 1) {
    assert.deepEqual(data(parse([body.subarray(0, cut), body.subarray(cut)])), ['a', 'c']);
  }
});

test('data that lies in one chunk is a view on it', () => {
  const chunk = Buffer.from('data: abc\n\n');
  let seen: Buffer | null = null;
  new SseParser({ maxEventBytes: MAX, onEvent: (part) => (seen = part) }).push(chunk);
  assert.ok(seen !== null);
  assert.equal((seen as Buffer).buffer, chunk.buffer);
  assert.equal((seen as Buffer).byteOffset, chunk.byteOffset + 6);
});

test('cuts at random bytes never change four scripts (P33)', () => {
  const scripts = ['Grüße, naïve café', '你好，世界。今天', '👩‍👩‍👧‍👦🇦🇹é', 'مرحبا שלום Привет'];
  const whole = Buffer.from(scripts.map((text) => `data: ${text}\r\n\r\n`).join(''));
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat({ max: whole.length }), { maxLength: 12 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      const chunks = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      assert.deepEqual(data(parse(chunks)), scripts);
    }),
    { numRuns: 10_000 },
  );
});

/** Work for one event of that length in single bytes. */
function oneByte(length: number): number {
  const body = Buffer.from(`data: ${'x'.repeat(length)}\n\n`);
  let seen = 0;
  const parser = new SseParser({ maxEventBytes: 1 << 24, onEvent: (part) => (seen = part.length) });
  for (let at = 0; at < body.length; at += 1) parser.push(body.subarray(at, at + 1));
  assert.equal(seen, length);
  return parser.work.searched + parser.work.copied;
}

test('the work is linear in the bytes for one long event in single bytes, and for many line ends (P34)', () => {
  const half = oneByte(1 << 19);
  const whole = oneByte(1 << 20);
  assert.ok(whole <= 2.3 * half, `${whole} against ${half}`);
  assert.ok(whole <= 4 * (1 << 20), 'each byte is looked at a bounded number of times');
  for (const line of ['data: x\r', 'data: x\n', ':\r\n', 'a\r', '\r', '\n', 'data: x\n\ndata: y\r']) {
    const body = Buffer.from(line.repeat(20_000));
    const { work } = parse([body], { max: 1 << 24 });
    assert.ok(work.searched <= 2 * body.length, `${JSON.stringify(line)}: ${work.searched} for ${body.length}`);
  }
});

test('an event above the bound is a typed error, and the events before it were emitted', () => {
  const seen: string[] = [];
  const parser = new SseParser({ maxEventBytes: 16, onEvent: (part) => seen.push(part.toString()) });
  assert.throws(() => parser.push(Buffer.from(`data: a\n\ndata: ${'b'.repeat(17)}`)), SseLimitError);
  assert.deepEqual(seen, ['a']);
  assert.throws(() => parser.push(Buffer.from('data: c\n\n')), SseLimitError);
  assert.throws(() => parse(bytes('data\n'.repeat(10)), { max: 16 }), SseLimitError);
  assert.throws(() => parse(bytes(`:${'c'.repeat(17)}\n`), { max: 16 }), SseLimitError);
  assert.throws(() => parse(bytes(...Array.from({ length: 40 }, () => ':')), { max: 16 }), SseLimitError);
  assert.deepEqual(data(parse(bytes('data: 123456789\n\n'.repeat(9)), { max: 16 })).length, 9);
});

test('a line of 1.5 MiB in 64 KiB chunks passes (SSE-08)', () => {
  const text = 'A'.repeat(1_572_864);
  const body = Buffer.from(`data: ${text}\n\n`);
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += 65_536) chunks.push(body.subarray(at, at + 65_536));
  assert.deepEqual(data(parse(chunks, { max: 1 << 24 })), [text]);
});
