import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-surge-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const BASE = `version: 1
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1"}]}]
models: [{name: m, deployments: [{backend: b}]}, {name: light, deployments: [{backend: b}]}]
aliases: {small: light}
`;
const ROUTE = 'routes: [{name: r, divert: true, reduce_n: true}]\n';

function load(text: string) {
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(file, BASE + text);
  return loadConfig({ path: file, env: {}, generation: 1, dialects: ['openai'], checkMatch: () => null });
}

function made(text: string) {
  const result = load(text);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result;
}

const shown = (found: readonly { line: number; column: number; path: string; message: string }[]): string[] =>
  found.map(({ line, column, path: at, message }) => `${line}:${column} ${at}: ${message}`);

function problems(text: string): string[] {
  const result = load(text);
  return result.ok ? [] : shown(result.problems);
}

test('off where nothing is said', () => {
  const { snapshot } = made('');
  assert.equal(snapshot.surge, null);
  assert.deepEqual([snapshot.routes[0]?.divert, snapshot.routes[0]?.reduceN], [false, false]);
});

test('levels hold what those below them do; thresholds have usual figures', () => {
  const { snapshot } = made(`${ROUTE}surge:
  levels:
    - actions: {refuse_n: {above: 4}}
    - actions: {divert: {model: small}}
    - actions: {refuse_n: {}, buffer_streams: true}
    - {above: 20000, actions: {refuse_n: {above: 9}, divert: {share: 0.5, model: m}}}
`);
  const light = { share: 0.1, model: 'light' };
  assert.deepEqual(snapshot.surge, {
    levels: [
      { above: 8000, largestN: 4, divert: null, bufferStreams: false },
      { above: 10_000, largestN: 4, divert: light, bufferStreams: false },
      { above: 12_000, largestN: 1, divert: light, bufferStreams: true },
      { above: 20_000, largestN: 1, divert: { share: 0.5, model: 'm' }, bufferStreams: true },
    ],
    leaveBelow: 0.85,
    leaveAfterMs: 10_000,
    exemptTiers: new Set(),
  });
  assert.deepEqual([snapshot.routes[0]?.divert, snapshot.routes[0]?.reduceN], [true, true]);
});

test('what makes no sense is said at its place', () => {
  assert.deepEqual(
    problems(`surge:
  levels:
    - actions: {refuse_n: {}}
    - {above: 7000, actions: {divert: {model: lite}}}
    - {above: 9000, actions: {}}
    - actions: {buffer_streams: true}
`),
    [
      '9:15 surge.levels[1].above: must be above the level before (8000), not 7000',
      '9:47 surge.levels[1].actions.divert.model: there is no model "lite".',
      '10:30 surge.levels[2].actions: do nothing: name refuse_n, divert or buffer_streams',
      '11:7 surge.levels[3]: "above" is missing: only the first three levels have a usual one',
    ],
  );
  assert.equal(problems('surge: {levels: []}\n').length, 1);
  assert.equal(problems('surge: {levels: [{actions: {refuse_n: {above: 0}}}]}\n').length, 1);
});

test('what has no effect is told', () => {
  assert.deepEqual(shown(made(ROUTE).warnings.filter((one) => one.message.includes('surge'))), [
    '6:28 routes[0].divert: has no effect without surge',
    '6:44 routes[0].reduce_n: has no effect without surge',
  ]);
  const { warnings } = made('surge: {levels: [{actions: {divert: {model: light}}}]}\n');
  assert.ok(shown(warnings).some((one) => one.includes('actions.divert: has no effect: no route says divert: true')));
});
