import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from './judge.ts';
import { NOT_YET } from './not-yet.ts';
import { OPERATORS } from './operators.ts';
import { valueAt } from './path.ts';
import { type Claim, loadReports } from './report.ts';
import { ABSENT, anyName, headersView, Many, MISSING, named, UnknownPath } from './view.ts';

const headers = headersView([
  ['Content-Type', 'application/json'],
  ['x-twice', 'a'],
  ['X-Twice', 'b'],
]);
const list = [{ n: 1, text: 'al' }, { n: 2, text: null }, { text: 'pha' }];
const root = named('root', {
  status: () => 200,
  body: () => ({ list, big: '12345678901234567890', deep: { stop: null }, empty: [] as unknown[] }),
  headers: () => headers,
  nothing: () => MISSING,
  series: () => named('series', { count: () => 3 }, list, { last: () => list.at(-1) }),
  none: () => named('none', {}, []),
  counts: () => anyName((name) => Number(name)),
  begun: () => [10, 20],
  ended: () => [15, 26],
  short: () => [1],
});

function verdict(claim: Claim): string | null {
  const { failures } = judge([claim], { root, policy: 'open', fill: (text) => text });
  return failures[0] ?? null;
}

/* eslint-disable unicorn/no-thenable -- the word of the reports; nobody awaits a claim */
const HOLD: readonly Claim[] = [
  { on: 'status', op: 'eq', value: 200 },
  { on: 'status', op: 'in', value: [404, 200] },
  { on: 'body.big', op: 'contains', value: '678' },
  { on: 'body.big.length', op: 'eq', value: 20 },
  { on: 'body.gone', op: 'absent' },
  { on: 'body.gone.deeper[0].still', op: 'absent' },
  { on: 'body.deep.stop', op: 'eq', value: null },
  { on: 'body.gone', op: 'in', value: ['__absent__', null] },
  { on: 'headers.content-type', op: 'startswith', value: 'application/json' },
  { on: 'headers.x-twice', op: 'eq', value: ['a', 'b'] },
  { on: 'series[*].text', op: 'concat_eq', value: 'alpha' },
  { on: 'series[0..1].n', op: 'ge', value: 1 },
  { on: 'series[last].text', op: 'eq', value: 'pha' },
  { on: 'body.list[*].n', op: 'in', value: [1, 2, '__absent__'] },
  { on: 'body.list[0]', op: 'deep_eq', value: { n: 1, text: 'al' } },
  { on: 'counts.200 + counts.3', op: 'eq', value: 203 },
  { on: 'ended[k] - begun[k]', op: 'le', value: 6 },
  { on: 'body.list', op: 'is_array' },
  {
    any_of: [
      { on: 'status', op: 'eq', value: 1 },
      { on: 'status', op: 'eq', value: 200 },
    ],
  },
  { if: { policy: 'closed' }, then: { on: 'status', op: 'eq', value: 1 } },
  { if: { on: 'status', op: 'eq', value: 1 }, then: { on: 'status', op: 'eq', value: 1 } },
];

for (const claim of HOLD) test(`holds: ${JSON.stringify(claim)}`, () => assert.equal(verdict(claim), null));

const FAIL: readonly Claim[] = [
  { on: 'status', op: 'eq', value: '200' },
  { on: 'body.gone', op: 'present' },
  { on: 'body.gone', op: 'eq', value: null },
  { on: 'body.deep.stop', op: 'absent' },
  { on: 'body.gone', op: 'lt', value: 1 },
  { on: 'headers.x-twice', op: 'not_duplicated' },
  { on: 'headers.x-twice', op: 'eq', value: 'a' },
  { on: 'headers.x-twice', op: 'not_contains', value: 'b' },
  { on: 'series[*].text', op: 'is_string' },
  { on: 'series[*].n', op: 'all_equal' },
  { on: 'series[9].text', op: 'absent' },
  { on: 'nothing', op: 'absent' },
  { on: 'nothing.at.all', op: 'not_contains', value: 'x' },
  { on: 'none[*].error', op: 'absent' },
  { on: 'body.empty[*]', op: 'all_non_empty' },
  { on: 'ended[k] - begun[k]', op: 'lt', value: 6 },
  { on: 'ended[k] - short[k]', op: 'lt', value: 1000 },
  { on: 'status', op: 'approx', value: 200.1, tol: 0.01 },
  { if: { policy: 'open' }, then: { on: 'status', op: 'eq', value: 1 } },
  {
    all_of: [
      { on: 'status', op: 'eq', value: 200 },
      { on: 'status', op: 'eq', value: 1 },
    ],
  },
];

for (const claim of FAIL) test(`fails: ${JSON.stringify(claim)}`, () => assert.notEqual(verdict(claim), null));

const UNKNOWN: readonly Claim[] = [
  { on: 'status', op: 'roughly', value: 200 },
  { on: 'stat', op: 'absent' },
  { on: 'series.size', op: 'absent' },
  { on: 'series[first]', op: 'absent' },
  { on: 'counts[*]', op: 'absent' },
  { on: 'body..list', op: 'present' },
  {
    any_of: [
      { on: 'stat', op: 'absent' },
      { on: 'status', op: 'eq', value: 200 },
    ],
  },
];

for (const claim of UNKNOWN) {
  test(`cannot be judged: ${JSON.stringify(claim)}`, () => assert.throws(() => verdict(claim), UnknownPath));
}

test('what is only wished for is a note, no failure', () => {
  const claims: readonly Claim[] = [{ on: 'status', op: 'eq', value: 1, soft: true }];
  const { failures, notes } = judge(claims, { root, policy: null, fill: (text) => text });
  assert.deepEqual(failures, []);
  assert.equal(notes.length, 1);
});

test('values of a path over a list', () => {
  assert.deepEqual(valueAt(root, 'series[*].n'), new Many([1, 2, ABSENT]));
});

function operatorsOf(claim: Claim): readonly string[] {
  if ('any_of' in claim) return claim.any_of.flatMap(operatorsOf);
  if ('all_of' in claim) return claim.all_of.flatMap(operatorsOf);
  if ('if' in claim) return [...('policy' in claim.if ? [] : operatorsOf(claim.if)), ...operatorsOf(claim.then)];
  return [claim.op];
}

test('every operator of the reports is known', () => {
  const used = new Set(loadReports().flatMap(({ assert: claims }) => claims.flatMap(operatorsOf)));
  assert.deepEqual(
    [...used].filter((op) => !OPERATORS.has(op)),
    [],
  );
});

test('every entry that is left out is a report, and steps that are left out exist', () => {
  const reports = new Map(loadReports().map((report) => [report.id, report]));
  for (const [id, { steps = [], reason }] of Object.entries(NOT_YET)) {
    const report = reports.get(id);
    assert.ok(report, id);
    assert.ok(reason.length > 0);
    assert.ok(
      steps.every((step) => step < report.steps.length),
      id,
    );
  }
});
