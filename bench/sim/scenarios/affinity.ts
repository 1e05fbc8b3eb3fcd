import { maxOverMean, mean, percentile, ttfts } from '../engine/figures.ts';
import type { HostModel } from '../engine/host.ts';
import type { PolicySpec } from '../engine/policy.ts';
import { createRandom } from '../engine/random.ts';
import type { SimRequest } from '../engine/request.ts';
import { simulate, type Run } from '../engine/simulate.ts';
import { readTrace, withModels } from '../engine/traces.ts';
import { leastInFlight } from '../policies/least-weighted.ts';
import { gatedPrefix, hashOfPrefix, maxPrefix, prefixScore } from '../policies/prefix.ts';
import { randomPolicy } from '../policies/random.ts';
import { gatedWarm } from '../policies/warm.ts';
import { atLeast, atMost, figureOf, type Column, type Gate, type Row, type Sheet } from '../report/sheet.ts';
import { HOST, PATIENT_MS, type Scenario, type ScenarioOptions } from './scenario.ts';

const HOSTS = 8;

interface Setting {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly model: HostModel;
  readonly requests: (seed: number) => readonly SimRequest[];
  readonly baselines: readonly PolicySpec[];
  readonly columns: readonly Column[];
  readonly gates: (rows: readonly Row[], ours: string) => readonly Gate[];
}

const SPREAD: readonly Column[] = [
  { key: 'work', title: 'prompt tokens computed, max/mean', digits: 2 },
  { key: 'requests', title: 'requests, max/mean', digits: 2 },
  { key: 'ttft50', title: 'TTFT p50 s', digits: 2 },
  { key: 'ttft95', title: 'TTFT p95 s', digits: 2 },
];

/** T4: prompts that begin alike should go where their beginning is known, and no host should drown for it. */
export const prefixes = affinity({
  id: 'prefixes',
  title: 'Prefix caches',
  about:
    'The Mooncake conversations (an hour, 12,031 requests) on eight hosts, each with room for 4,000 blocks of 512 tokens, least recently used dropped first. ' +
    'Hits are blocks found at the host when the request begins to run.',
  model: { ...HOST, cacheBlocks: 4000 },
  requests: () => readTrace('mooncake-conversation', { faster: 1 }),
  baselines: [randomPolicy, leastInFlight, hashOfPrefix, maxPrefix, prefixScore, gatedPrefix],
  columns: [{ key: 'hits', title: 'block hit rate', digits: 3 }, ...SPREAD],
  gates: (rows, ours) => [
    atLeast('block hit rate', figureOf(rows, ours, 'hits'), 0.31, 3),
    atMost('prompt tokens computed, max/mean', figureOf(rows, ours, 'work'), 1.1),
  ],
});

/** T4: models that take time to load should be asked for where they are. */
export const warmModels = affinity({
  id: 'warm-models',
  title: 'Warm models',
  about:
    'The Azure conversations at twice their speed, each for one of 24 models (the k-th 1/k times as often as the first), on eight hosts with room for four ' +
    'models each. A model takes 5 s to load.',
  model: { ...HOST, models: { room: 4, loadMs: 5000 } },
  requests: (seed) =>
    withModels(readTrace('azure-llm-2023', { faster: 2 }), { models: 24, random: createRandom(seed + 100) }),
  baselines: [randomPolicy, leastInFlight, hashOfPrefix, gatedWarm],
  columns: [{ key: 'cold', title: 'cold starts %', digits: 2 }, ...SPREAD],
  gates: (rows, ours) => [
    atMost('cold starts %', figureOf(rows, ours, 'cold'), 1),
    atMost('requests, max/mean', figureOf(rows, ours, 'requests'), 1.2),
  ],
});

function affinity(setting: Setting): Scenario {
  return { id: setting.id, baselines: setting.baselines, run: (options) => [sheetOf(setting, options)] };
}

function sheetOf(setting: Setting, { ours, seeds, progress }: ScenarioOptions): Sheet {
  const { id, title, about, columns, baselines, gates } = setting;
  const policies = ours === null ? baselines : [...baselines, ours];
  const rows = policies.map((spec): Row => {
    const figures = seeds.map((seed) => {
      const run = runOf(setting, spec, seed);
      progress(spec.name);
      return figuresOf(run);
    });
    const keys = columns.map(({ key }) => key);
    return {
      policy: spec.name,
      figures: Object.fromEntries(keys.map((key) => [key, mean(figures.map((of) => of[key] ?? NaN))])),
    };
  });
  return { id, title, about, columns, rows, gates: ours === null ? [] : gates(rows, ours.name), plots: [] };
}

function runOf({ model, requests }: Setting, spec: PolicySpec, seed: number): Run {
  const speeds = Array.from({ length: HOSTS }, () => 1);
  return simulate(
    { model, speeds, requests: requests(seed), changes: [], tries: 1, patienceMs: PATIENT_MS, seed },
    spec,
  );
}

function figuresOf({ answers, hosts }: Run): Readonly<Record<string, number>> {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const first = ttfts(answers);
  return {
    hits: sum(hosts.map(({ cachedBlocks }) => cachedBlocks)) / sum(hosts.map(({ blocks }) => blocks)),
    cold: (100 * sum(hosts.map(({ modelLoads }) => modelLoads))) / answers.length,
    work: maxOverMean(hosts.map(({ promptTokens }) => promptTokens)),
    requests: maxOverMean(hosts.map(({ requests }) => requests)),
    ttft50: percentile(first, 0.5),
    ttft95: percentile(first, 0.95),
  };
}
