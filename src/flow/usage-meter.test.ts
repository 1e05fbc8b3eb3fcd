import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { totalTokens } from '../core/usage.ts';
import { facts, usageOf } from './flow-kit.test.ts';
import { UsageMeter } from './usage-meter.ts';

const out = (chars: number) => facts({ content: true, outputChars: chars });

test("an upstream's own word stands, the last one of several", () => {
  const meter = new UsageMeter(50);
  meter.add(facts({ usage: usageOf(3, 1), usageOnly: true }));
  meter.add(out(40));
  meter.add(facts({ usage: usageOf(3, 9), usageOnly: true }));
  assert.deepEqual(meter.complete(), { usage: usageOf(3, 9), flag: null });
  assert.deepEqual(meter.toldUsage, usageOf(3, 9));
});

test('a zero that the upstream told is its word too', () => {
  const meter = new UsageMeter(50);
  meter.add(facts({ usage: usageOf(0, 0) }));
  assert.deepEqual(meter.complete(), { usage: usageOf(0, 0), flag: null });
});

test('what the upstream counts as nothing, or as far from what went by, is marked', () => {
  const free = new UsageMeter(50);
  free.add(out(400));
  free.add(facts({ usage: usageOf(7, 0) }));
  assert.deepEqual(free.complete().usage, { prompt: 7, cached: 0, completion: 100, reasoning: 0, source: 'estimate' });
  assert.equal(free.complete().flag, 'zero_usage');
  const forged = new UsageMeter(50);
  forged.add(out(20));
  forged.add(facts({ usage: usageOf(7, 90_000) }));
  assert.deepEqual(forged.complete(), { usage: usageOf(7, 90_000), flag: 'implausible' });
  const reasoned = new UsageMeter(50);
  reasoned.add(out(20));
  reasoned.add(facts({ usage: { ...usageOf(7, 90_000), reasoning: 89_990 } }));
  assert.equal(reasoned.complete().flag, null);
});

test('what is missing is estimated and flagged, and why it was not taken is kept', () => {
  const silent = new UsageMeter(50);
  silent.add(out(400));
  const { usage, flag } = silent.complete();
  assert.deepEqual(usage, { prompt: 50, cached: 0, completion: 100, reasoning: 0, source: 'estimate' });
  assert.equal(flag, 'usage_missing');
  const odd = new UsageMeter(50);
  odd.add(facts({ usageFlag: 'odd_prompt' }));
  assert.equal(odd.complete().flag, 'odd_prompt');
});

test('small pieces are taken for one token each', () => {
  const meter = new UsageMeter(1);
  for (let piece = 0; piece < 20; piece += 1) meter.add(out(4));
  meter.add(facts());
  assert.equal(meter.complete().usage.completion, 20);
});

test('finish reasons and output are counted as they come', () => {
  const meter = new UsageMeter(1);
  assert.deepEqual([meter.finishes, meter.producedOutput], [0, false]);
  meter.add(facts());
  assert.equal(meter.producedOutput, false);
  meter.add(facts({ content: true, outputChars: 0, finishReason: 'stop' }));
  assert.deepEqual([meter.finishes, meter.producedOutput], [1, true]);
});

test('an answer that was cut is never charged below what was told, nor below what was sent', () => {
  const piece = fc.record({
    content: fc.boolean(),
    outputChars: fc.nat(200),
    finishReason: fc.constantFrom(null, 'stop'),
    usage: fc.option(
      fc.tuple(fc.nat(500), fc.nat(500)).map(([prompt, completion]) => usageOf(prompt, completion)),
      { freq: 4 },
    ),
    usageOnly: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.nat(1000), fc.array(piece, { maxLength: 40 }), (prompt, pieces) => {
      const meter = new UsageMeter(prompt);
      for (const each of pieces) meter.add(each);
      const bare = new UsageMeter(prompt);
      for (const each of pieces) bare.add({ ...each, usage: null });
      const sent = bare.complete().usage;
      const { usage, flag } = meter.cut();
      const told = pieces.findLast((each) => each.usage !== null)?.usage ?? null;
      assert.ok(usage.completion >= sent.completion);
      assert.ok(told === null || usage.completion >= told.completion);
      assert.equal(usage.prompt, told?.prompt ?? prompt);
      assert.equal(flag === null, told !== null && told.completion >= sent.completion);
      assert.equal(usage.source, flag === null ? 'upstream' : 'estimate');
      for (const each of [usage, meter.complete().usage]) {
        assert.ok(Number.isSafeInteger(totalTokens(each)) && totalTokens(each) >= 0);
      }
    }),
  );
});
