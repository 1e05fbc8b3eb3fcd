import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StageDecision } from '../core/stage.ts';
import { loadConfig } from './load-config.ts';

const BASE = `version: 1
redis: {url: "redis://127.0.0.1"}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
`;

function load(text: string, decided: (id: string) => StageDecision | null = () => null) {
  const options = { path: '/nowhere/tokenlat.yaml', text: BASE + text, generation: 1, dialects: ['openai'] };
  const result = loadConfig({ ...options, checkMatch: () => null, decided });
  return result.ok
    ? { snapshot: result.snapshot, said: result.warnings.map(({ path, message }) => `${path}: ${message}`) }
    : { snapshot: null, said: result.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`) };
}

const backends = (zone: string, more = ''): string =>
  `backends: [{name: b, zone: ${zone}, endpoints: [{url: "http://10.0.0.1:8000"}]${more}}]\n`;
const models = (more: string): string => `models: [{name: m, deployments: [{backend: b${more}}]}]\n`;

test('stages, zones and splits come into the snapshot; zones only where they are told apart', () => {
  const plain = load(backends('hot') + models('')).snapshot;
  assert.equal(plain?.zones, undefined);
  assert.deepEqual([plain?.models.get('m')?.deployments[0]?.stage, plain?.routes[0]?.split], ['full', undefined]);
  const made = load(
    `${backends('batch')}${models(', stage: gray, percent: 2.5')}routes: [{name: r, candidates: [{model: m}], split: session, zone: batch}]\n`,
  ).snapshot;
  const [deployment] = made?.models.get('m')?.deployments ?? [];
  assert.deepEqual([deployment?.stage, deployment?.percent, deployment?.backend.zone], ['gray', 2.5, 'batch']);
  assert.deepEqual([made?.routes[0]?.split, made?.routes[0]?.zone], ['session', 'batch']);
  assert.deepEqual(made?.zones, {
    batchTypes: new Set(['batch']),
    hotBelow: 0.5,
    spillAbove: null,
    retryAfterMs: 10_000,
  });
  const own = load(`${backends('hot')}${models('')}zones: {batch_types: [bulk], hot_uses_batch_above: 0.9}\n`).snapshot;
  assert.deepEqual([own?.zones?.batchTypes, own?.zones?.spillAbove], [new Set(['bulk']), 0.9]);
});

test('what has no effect, or keeps batch work away, is warned of', () => {
  assert.match(
    load(backends('hot') + models(', percent: 5')).said.join(),
    /percent: has no effect while "m@b" is full/,
  );
  const both = `backends: [{name: b, endpoints: [{url: "http://h:1"}]}, {name: n, zone: batch, endpoints: [{url: "http://n:1"}]}]\n`;
  assert.match(load(both + models('')).said.join(), /"b" has no limits\.concurrency: how busy it is cannot be told/);
  assert.deepEqual(load(both + models(', limits: {concurrency: 5}')).said, []);
});

test('a stage that leads back is refused with its place, unless another model stands behind the name', () => {
  const decided =
    (stage: 'full' | 'retired', configured: 'full' | 'retired' = stage) =>
    (): StageDecision => ({
      upstreamModel: 'm',
      stage,
      percent: null,
      configured,
    });
  const gray = backends('hot') + models(', stage: gray');
  assert.deepEqual(load(gray, decided('full')).said, [
    '5 models[0].deployments[0].stage: "m@b" is full and cannot go back to gray',
  ]);
  assert.match(load(gray, decided('retired')).said.join(), /"tokenlat deployments stage m@b gray" begins anew/);
  assert.deepEqual(load(backends('hot') + models(', stage: retired'), decided('full')).said, []);
  assert.deepEqual(load(backends('hot') + models(', stage: gray, model: v2'), decided('full')).said, []);
  // Decided at run time, and the file has said nothing new since.
  assert.deepEqual(load(backends('hot') + models(''), decided('retired', 'full')).said, []);
});

test('the same text has the same source everywhere; what it refers to is in the digest', () => {
  const text = `${BASE}${backends('hot')}${models('')}telemetry: {log_level: "\${env:LEVEL}"}\n`;
  const at = (level: string) => {
    const options = {
      path: '/nowhere/tokenlat.yaml',
      text,
      generation: 1,
      dialects: ['openai'],
      env: { LEVEL: level },
    };
    const result = loadConfig({ ...options, checkMatch: () => null });
    assert.ok(result.ok);
    return result.snapshot;
  };
  assert.equal(at('info').source, at('warn').source);
  assert.notEqual(at('info').digest, at('warn').digest);
});
