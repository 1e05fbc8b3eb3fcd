import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenlat } from '../policies/tokenlat.ts';
import { figureOf, type Sheet } from '../report/sheet.ts';
import { prefixes, warmModels } from './affinity.ts';
import { bursts } from './bursts.ts';
import { fairQueue } from './fair-queue.ts';
import { highLoad } from './high-load.ts';
import type { Scenario } from './scenario.ts';
import { sickHost } from './sick-host.ts';
import { equalHosts, mixedHosts } from './spread-load.ts';

function sheetsOf(scenario: Scenario, seeds: readonly number[], ours: typeof tokenlat | null): readonly Sheet[] {
  return scenario.run({ ours, seeds, progress: () => {} });
}

function broken(sheets: readonly Sheet[]): readonly string[] {
  return sheets.flatMap(({ title, gates }) =>
    gates.filter(({ isKept }) => !isKept).map(({ what, value, limit }) => `${title}: ${what} ${limit}: ${value}`),
  );
}

/** Each figure within a part of what it should be. */
function near([sheet]: readonly Sheet[], expected: readonly (readonly [string, string, number, number])[]): void {
  for (const [policy, key, value, part] of expected) {
    const figure = figureOf(sheet?.rows ?? [], policy, key);
    assert.ok(Math.abs(figure / value - 1) <= part, `${policy} ${key}: ${figure} instead of ${value}`);
  }
}

test('equal hosts: TokenLat keeps its gates, and what others do is as known', () => {
  const sheets = sheetsOf(equalHosts, [1], tokenlat);
  assert.equal(sheets[0]?.gates.length, 4);
  assert.deepEqual(broken(sheets), []);
  near(sheets, [
    ['least in flight', 'ttft95', 0.68, 0.03],
    ['least in flight', 'ttft99', 0.73, 0.03],
    ['least in flight', 'total95', 19.8, 0.03],
    ['round robin', 'ttft95', 0.69, 0.03],
    ['polled 1 s', 'ttft95', 1.83, 0.15],
    ['polled 5 s', 'ttft95', 19.4, 0.1],
  ]);
});

test('mixed hosts: TokenLat learns the speeds', () => {
  const sheets = sheetsOf(mixedHosts, [1, 2], tokenlat);
  assert.equal(sheets[0]?.gates.length, 3);
  assert.deepEqual(broken(sheets), []);
  near(sheets, [
    ['weighted least (configured)', 'ttft95', 0.71, 0.03],
    ['weighted least (configured)', 'total95', 24.4, 0.03],
    ['least in flight', 'ttft99', 1.33, 0.05],
  ]);
});

test('a host that is ill: TokenLat leaves it and comes back', () => {
  const sheets = sheetsOf(sickHost, [1], tokenlat);
  assert.equal(sheets.length, 8);
  assert.ok(sheets.every(({ gates }) => gates.length >= 4));
  assert.deepEqual(broken(sheets), []);
});

test('prefixes and warm models: TokenLat goes where it is warm and crowds nobody, and what others do is as known', () => {
  const cached = sheetsOf(prefixes, [1], tokenlat);
  near(cached, [
    ['random', 'hits', 0.093, 0.06],
    ['hash', 'hits', 0.331, 0.02],
    ['max prefix', 'requests', 8, 0],
    ['prefix 3 : load 2', 'hits', 0.314, 0.03],
  ]);
  const held = sheetsOf(warmModels, [1], tokenlat);
  assert.deepEqual(broken([...cached, ...held]), []);
  assert.deepEqual(
    [...cached, ...held].map(({ gates }) => gates.length),
    [2, 2],
  );
  const [warm] = held;
  assert.ok(figureOf(warm?.rows ?? [], 'gated warm', 'cold') < 1);
  assert.ok(figureOf(warm?.rows ?? [], 'least in flight', 'cold') > 50);
});

test('bursts: TokenLat spreads what comes in one moment', () => {
  const sheets = sheetsOf(bursts, [1], tokenlat);
  assert.equal(sheets[0]?.gates.length, 2);
  assert.deepEqual(broken(sheets), []);
  const off = (policy: string): number => figureOf(sheets[0]?.rows ?? [], policy, 'off');
  assert.ok(off('polled 50 ms') > 50 && off('random') > 10);
});

test('a tenant that floods does not make the other one wait; in order of arrival it does', () => {
  const sheets = sheetsOf(fairQueue, [1], tokenlat);
  assert.equal(sheets[0]?.gates.length, 2);
  assert.deepEqual(broken(sheets), []);
  assert.ok(figureOf(sheets[0]?.rows ?? [], 'first come, first served', 'times') > 10);
});

test('high load: each level acts at its rate, and without levels the workers are too few', () => {
  const sheets = sheetsOf(highLoad, [1], tokenlat);
  assert.equal(sheets[0]?.gates.length, 5);
  assert.deepEqual(broken(sheets), []);
  assert.ok(figureOf(sheets[0]?.rows ?? [], 'no levels, 12,500/s', 'p99') > 850);
});
