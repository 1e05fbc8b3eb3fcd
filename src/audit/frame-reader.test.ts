import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { frameOf, MAX_BODY } from './frame.ts';
import { readPieces } from './frame-reader.ts';

const dir = mkdtempSync(join(tmpdir(), 'tokenlat-frames-'));
after(() => rmSync(dir, { recursive: true }));

async function read(content: string | Buffer): Promise<string[]> {
  const file = join(dir, 'x.log');
  writeFileSync(file, content);
  const seen: string[] = [];
  let covered = 0;
  for await (const pieces of readPieces(file)) {
    for (const piece of pieces) {
      assert.equal(piece.offset, covered);
      covered += piece.bytes;
      seen.push(piece.kind === 'frame' ? piece.body.toString().slice(0, 20) : `${piece.kind} ${piece.bytes}`);
    }
  }
  assert.equal(covered, Buffer.byteLength(content));
  return seen;
}

test('frames, bad lines and the tail cover the file', async () => {
  const a = frameOf('{"a":1}').line;
  const b = frameOf('{"b":1}').line;
  assert.deepEqual(await read(a + b), ['{"a":1}', '{"b":1}']);
  assert.deepEqual(await read(`${a}garbage\n${b}${a.slice(0, 30)}`), ['{"a":1}', 'bad 8', '{"b":1}', 'tail 30']);
  assert.deepEqual(await read(''), []);
  assert.deepEqual(await read('\n\n'), ['bad 1', 'bad 1']);
});

test('frames of every size pass over the edges of chunks', async () => {
  const bodies = Array.from(
    { length: 400 },
    (_, i) => `"${String(i).padStart(8, '0')}${'x'.repeat((i * 7919) % 20_000)}"`,
  );
  const seen = await read(bodies.map((body) => frameOf(body).line).join(''));
  assert.deepEqual(
    seen,
    bodies.map((body) => body.slice(0, 20)),
  );
});

test('a line of many MiB without end is one bad line, and what follows is read', async () => {
  const long = Buffer.alloc(5 * MAX_BODY, 120);
  const line = frameOf('{"a":1}').line;
  assert.deepEqual(await read(Buffer.concat([long, Buffer.from(`\n${line}`)])), [`bad ${long.length + 1}`, '{"a":1}']);
  assert.deepEqual(await read(Buffer.concat([Buffer.from(line), long])), ['{"a":1}', `tail ${long.length}`]);
  assert.deepEqual(await read(frameOf(`"${'y'.repeat(MAX_BODY - 2)}"`).line + line), [`"${'y'.repeat(19)}`, '{"a":1}']);
});
