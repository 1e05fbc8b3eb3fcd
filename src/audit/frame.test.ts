import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FRAME_HEAD, frameOf, MAX_BODY, readFrame } from './frame.ts';

const whole = (text: string) => {
  const bytes = Buffer.from(text);
  return readFrame(bytes, 0, bytes.length - 1);
};

test('what is written is read back, bytes and all', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 2 }), (text) => {
      const body = JSON.stringify(text);
      const { line, hash } = frameOf(body);
      const frame = whole(line);
      assert.equal(frame?.hash, hash);
      assert.equal(frame?.body.toString(), body);
      assert.equal(line.split('\n').length, 2);
    }),
    { numRuns: 200 },
  );
});

test('no single byte can change unseen', () => {
  const bytes = Buffer.from(frameOf('{"seq":1,"text":"é"}').line);
  for (let at = 0; at < bytes.length - 1; at += 1) {
    for (const flip of [1, 0x20, 0x80]) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= flip;
      assert.equal(readFrame(changed, 0, changed.length - 1), null, `byte ${at} by ${flip}`);
    }
  }
});

test('a line that lost or gained bytes is no frame', () => {
  const { line } = frameOf('{"seq":1}');
  for (let cut = 1; cut < line.length; cut += 1) assert.equal(whole(`${line.slice(0, -1 - cut)}\n`), null);
  assert.equal(whole(`${line.slice(0, -1)} \n`), null);
  assert.equal(whole(` ${line}`), null);
  assert.equal(whole(line.replace(/[a-f]/, (digit) => digit.toUpperCase())), null);
});

test('a body beyond the bound is no frame, however well it is hashed', () => {
  assert.notEqual(whole(frameOf(`"${'a'.repeat(MAX_BODY - 2)}"`).line), null);
  assert.equal(whole(frameOf(`"${'a'.repeat(MAX_BODY - 1)}"`).line), null);
  assert.equal(FRAME_HEAD, frameOf('{}').line.indexOf('{'));
});
