import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rig, SCORED, target } from './routing-kit.test.ts';

test('times that differ by their noise are alike, and a little more is little', () => {
  const terms = (...totals: readonly number[]): readonly number[] => {
    const targets = totals.map((totalMs, at) =>
      target(`t${at}`, { group: `g${at}`, prior: { firstTokenMs: null, tokenMs: null, totalMs } }),
    );
    const policy = { ...SCORED, weights: { cost: 0, latency: 1, quality: 0 } };
    const { order } = rig().decide(targets, 0, { policy });
    return targets.map(({ id }) => order.find(({ target: each }) => each.id === id)?.terms.latency ?? NaN);
  };
  assert.deepEqual(terms(1000, 1050, 1090), [0.5, 0.5, 0.5]);
  const [fast = 0, slower = 0] = terms(1000, 1155);
  assert.ok(fast > slower && fast - slower < 0.25, `${fast} ${slower}`);
  assert.deepEqual(terms(1000, 2000), [1, 0]);
});
