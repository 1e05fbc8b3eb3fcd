import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecordSplitter } from './record-splitter.ts';

function split(chunks: readonly string[], maxRecordBytes = 100): { records: string[]; ok: boolean[]; rest: string } {
  const records: string[] = [];
  const splitter = createRecordSplitter({ maxRecordBytes, onRecord: (record) => records.push(record.toString()) });
  const ok = chunks.map((chunk) => splitter.push(Buffer.from(chunk)));
  return { records, ok, rest: splitter.rest().toString() };
}

test('NUL, LF, CR and CRLF end a record, at any cut', () => {
  const text = 'a\0bb\nccc\r\ndd\re\0\0\nrest';
  for (let size = 1; size <= text.length; size += 1) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    const { records, rest } = split(chunks);
    assert.deepEqual([records, rest], [['a', 'bb', 'ccc', 'dd', 'e'], 'rest'], `size ${size}`);
  }
});

test('a record past the bound is refused, open or closed; one at the bound is not', () => {
  assert.deepEqual(split(['aaaa\n', 'aaaa'], 4).ok, [true, true]);
  assert.deepEqual(split(['aaaaa\n'], 4).ok, [false]);
  assert.deepEqual(split(['aaa', 'aa'], 4).ok, [true, false]);
  assert.deepEqual(split(['aaa', 'aa\n'], 4).ok, [true, false]);
});
