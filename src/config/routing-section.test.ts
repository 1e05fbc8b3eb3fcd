/** Scores, balance and breakers in a configuration. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { DEFAULT_BREAKER } from '../core/breaker-policy.ts';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-routing-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const BASE = `version: 1
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1"}]}]
`;
const MODEL = 'models: [{name: m, deployments: [{backend: b}]}]\n';

function load(text: string) {
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(file, text);
  return loadConfig({
    path: file,
    env: {},
    generation: 1,
    dialects: ['openai'],
    checkMatch: (source, use) =>
      source.includes(`BAD ${use}`) ? { message: 'no such word', offset: source.indexOf('BAD') } : null,
  });
}

function made(text: string) {
  const result = load(text);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot;
}

function problems(text: string): string[] {
  const result = load(text);
  return result.ok
    ? []
    : result.problems.map(({ line, column, path: at, message }) => `${line}:${column} ${at}: ${message}`);
}

test('without a word on it: breakers as published, no scores, by weight, nothing believed', () => {
  const { breakers, routes, models } = made(BASE + MODEL);
  assert.deepEqual(breakers, {
    enabled: true,
    policy: DEFAULT_BREAKER,
    slow: { firstTokenMs: null, totalMs: null },
    whenAllOpen: 'serve',
    text: null,
  });
  assert.equal(routes[0]?.score, null);
  const model = models.get('m');
  assert.equal(model?.balance, 'weight');
  assert.equal(model?.affinity, 'none');
  assert.deepEqual(model?.deployments[0]?.profile, {
    p95Ms: null,
    firstTokenMs: null,
    tokenMs: null,
    quality: 0.5,
    qualityFor: new Map(),
    context: 0,
    defaultMaxTokens: 1024,
  });
});

test('every word arrives', () => {
  const profile = '{p95_ms: 900, first_token_ms: 80, token_ms: 12.5, quality: 0.7, quality_for: {code: 0.9}}';
  const snapshot =
    made(`${BASE}models: [{name: m, balance: load, affinity: prefix, deployments: [{backend: b, profile: ${profile}}]}]
breakers: {window: 20s, error_rate: 0.2, slow: {first_token: 3s}, minimum: 5, in_a_row: 4, probe_share: 0.1, probe_interval: 5s,
  hard: {window: 30s, error_rate: 0.6, errors: 7, open: 45s}, when_all_open: refuse, text: later}
routes:
  - name: r
    candidates: [{model: m}]
    weights: {cost: 2, quality: 1}
    score: {load: 0.5, cost_ceiling: 0.02, latency: 8s, spread: softmax, temperature: 0.3, expression: "1.0",
      rules: [{when: "true", multiply: 0.5}]}
`);
  assert.equal(snapshot.models.get('m')?.balance, 'load');
  assert.equal(snapshot.models.get('m')?.affinity, 'prefix');
  assert.deepEqual(snapshot.models.get('m')?.deployments[0]?.profile.qualityFor, new Map([['code', 0.9]]));
  assert.equal(snapshot.models.get('m')?.deployments[0]?.profile.tokenMs, 12.5);
  assert.deepEqual(snapshot.routes[0]?.score, {
    weights: { cost: 2, latency: 0, quality: 1 },
    load: 0.5,
    costCeiling: 20_000,
    latencyMs: 8000,
    spread: { kind: 'softmax', temperature: 0.3 },
    expression: '1.0',
    rules: [{ when: 'true', multiply: 0.5 }],
  });
  const { policy, slow, whenAllOpen, text } = snapshot.breakers;
  assert.deepEqual([slow, whenAllOpen, text], [{ firstTokenMs: 3000, totalMs: null }, 'refuse', 'later']);
  assert.deepEqual(policy.soft, {
    windowMs: 20_000,
    errorRate: 0.2,
    slowRate: 0.05,
    minimum: 5,
    inARow: 4,
    probeShare: 0.1,
    probeEveryMs: 5000,
  });
  assert.deepEqual(policy.hard, { windowMs: 30_000, errorRate: 0.6, errors: 7, openMs: 45_000 });
});

const scored = (score: string, weights = 'weights: {cost: 1}, ') =>
  `${BASE}${MODEL}routes:\n  - {name: r, candidates: [{model: m}], ${weights}score: ${score}}\n`;

test('affinity needs a choice by load or score', () => {
  const models = 'models: [{name: m, affinity: session, deployments: [{backend: b}]}]\naliases: {other: m}\n';
  const routes = (weights: string) => `routes: [{name: r, candidates: [{model: other}]${weights}}]\n`;
  const problem =
    '4:30 models[0].affinity: has no effect without balance: load, a pool, or weights in a route that has the model among its candidates';
  assert.deepEqual(problems(BASE + models), [problem]);
  assert.deepEqual(problems(BASE + models + routes('')), [problem]);
  assert.equal(made(BASE + models + routes(', weights: {cost: 1}')).models.get('m')?.affinity, 'session');
  assert.match(
    problems(`${BASE}models: [{name: m, balance: load, affinity: sticky, deployments: [{backend: b}]}]\n`)[0] ?? '',
    /^4:45 models\[0\]\.affinity/,
  );
});

test('what makes no sense is told with its place', () => {
  assert.deepEqual(problems(scored('{load: 1}', '')), [
    '6:48 routes[0].score: has no effect without weights: name what counts, such as weights: {cost: 0.5, quality: 0.5}',
  ]);
  assert.deepEqual(problems(scored('{expression: "1.0 + BAD score"}')), [
    '6:88 routes[0].score.expression: is not a usable CEL expression: no such word',
  ]);
  assert.deepEqual(problems(scored('{rules: [{when: "BAD when", multiply: 1}]}')), [
    '6:84 routes[0].score.rules[0].when: is not a usable CEL expression: no such word',
  ]);
  assert.match(problems(scored('{spread: fair}'))[0] ?? '', /routes\[0\]\.score\.spread/);
  assert.match(
    problems(`${BASE}${MODEL}breakers: {window: 2m}\n`)[0] ?? '',
    /breakers\.window: must be between 1s and 1m/,
  );
  assert.match(problems(`${BASE}${MODEL}breakers: {error_rate: 0}\n`)[0] ?? '', /breakers\.error_rate/);
});

test('replays: by default always, by word or expression, and an expression that is no good has its place', () => {
  const { retry, routes, timeouts } = made(
    `${BASE}${MODEL}retry: {replay: never}\nroutes: [{name: r, replay: "request.stream"}, {name: s, match: "true"}]\n`,
  );
  assert.deepEqual([retry.replay, ...routes.map(({ replay }) => replay)], ['never', 'request.stream', null]);
  assert.deepEqual([timeouts.idleMs, timeouts.deadHostMs], [45_000, 20_000]);
  assert.equal(made(BASE + MODEL).retry.replay, 'always');
  assert.deepEqual(problems(`${BASE}${MODEL}retry: {replay: "x && BAD match"}\n`), [
    '5:23 retry.replay: is neither always nor never, nor a usable CEL expression: no such word',
  ]);
});
