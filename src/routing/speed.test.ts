import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rig, target } from './routing-kit.test.ts';

const C = target('c');

test('a slow one that nobody chooses is asked again, and soon once more when it was fast', () => {
  const made = rig();
  const four = [target('a'), target('b'), C, target('d')];
  for (let at = 0; at < 5000; at += 100) for (const each of four) made.serve(each, at, each === C ? 2000 : 200);
  const asked: number[] = [];
  for (let now = 10_000; now < 60_000; now += 50) {
    const [first] = made.decide(four, now).order;
    if (first === undefined) continue;
    if (first.live.target === C) asked.push(now);
    made.serve(first.live.target, now, 200);
  }
  const [once = 0, again = 0] = asked;
  // Its last answer began before 5 s; one comes by each 50 ms.
  assert.ok(once >= 12_000 - 50 && once <= 16_000, String(once));
  assert.ok(again - once >= 1000 && again - once < 1200, `${once} ${again}`);
  // The last bit of health comes at once: a quarter of two hundred.
  const end = asked.filter((at) => at >= 50_000).length;
  assert.ok(end > 25 && end < 80, String(end));
});
