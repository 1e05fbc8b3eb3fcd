import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostFacts, Policy, PolicySpec } from '../engine/policy.ts';
import { createRandom } from '../engine/random.ts';
import type { Attempt, HostLoad, SimRequest } from '../engine/request.ts';
import { completionAverage } from './completion-average.ts';
import { leastOf } from './least.ts';
import { leastInFlight, twoChoices, weightedLeast, weightedTwoChoices } from './least-weighted.ts';
import { polled } from './polled.ts';
import { gatedPrefix, hashOfPrefix, maxPrefix, prefixScore } from './prefix.ts';
import { randomPolicy } from './random.ts';
import { roundRobin } from './round-robin.ts';
import { tokenlat } from './tokenlat.ts';
import { gatedWarm } from './warm.ts';

const ALL: readonly PolicySpec[] = [
  randomPolicy,
  roundRobin,
  polled(1000),
  leastInFlight,
  weightedLeast,
  twoChoices,
  weightedTwoChoices,
  completionAverage,
  hashOfPrefix,
  maxPrefix,
  prefixScore,
  gatedPrefix,
  gatedWarm,
  tokenlat,
];

function hostsOf(weights: readonly number[], loads: readonly HostLoad[] = []): readonly HostFacts[] {
  return weights.map((weight, at) => ({
    slots: 32,
    weight,
    cacheBlocks: 100,
    modelRoom: 2,
    load: () => loads[at] ?? { running: 0, waiting: 0 },
  }));
}

function request(id: number, given: Partial<SimRequest> = {}): SimRequest {
  return { id, at: 0, promptTokens: 100, outputTokens: 10, blocks: [], model: null, ...given };
}

function make(spec: PolicySpec, hosts: readonly HostFacts[]): Policy {
  return spec.create({ hosts, random: createRandom(3) });
}

const attempt = (of: SimRequest, host: number | null): Attempt => ({
  request: of,
  host: host ?? -1,
  number: 1,
  startedAt: 0,
});

function countsOf(policy: Policy, hosts: number, picks: number): readonly number[] {
  const counts = Array.from({ length: hosts }, () => 0);
  for (let id = 0; id < picks; id += 1) {
    const host = policy.pick(request(id), [], 0) ?? -1;
    counts[host] = (counts[host] ?? 0) + 1;
  }
  return counts;
}

for (const spec of ALL) {
  test(`${spec.name}: a retry goes to a host that was not tried`, () => {
    for (let id = 0; id < 20; id += 1) {
      const policy = make(spec, hostsOf([1, 1, 1]));
      const tried: number[] = [];
      for (let number = 1; number <= 3; number += 1) {
        const host = policy.pick(request(id, { model: 1, blocks: [1, 2] }), tried, 0) ?? -1;
        assert.ok(host >= 0 && host < 3 && !tried.includes(host), `${host} after ${tried.join(', ')}`);
        tried.push(host);
        const failed = { request: request(id), host, number, startedAt: 0 };
        policy.onEnd?.(failed, { outcome: 'error', now: 1, retryAfterMs: null });
      }
    }
  });
}

test('the least wins, ties by chance', () => {
  const random = createRandom(1);
  assert.equal(
    leastOf(3, (host) => Math.abs(host - 1), { random, except: [] }),
    1,
  );
  assert.equal(
    leastOf(3, () => Infinity, { random, except: [0, 1] }),
    2,
  );
  const counts = [0, 0, 0];
  for (let at = 0; at < 3000; at += 1) counts[leastOf(3, () => 7, { random, except: [] })]! += 1;
  assert.ok(
    counts.every((count) => Math.abs(count - 1000) < 120),
    counts.join(' '),
  );
});

test('round robin takes turns', () => {
  const policy = make(roundRobin, hostsOf([1, 1, 1]));
  assert.deepEqual(
    [0, 1, 2, 3].map((id) => policy.pick(request(id), [], 0)),
    [0, 1, 2, 0],
  );
});

test('a count at the pick spreads a burst evenly, and by weight where it is told', () => {
  assert.deepEqual(countsOf(make(leastInFlight, hostsOf([1, 1, 1, 0.5])), 4, 400), [100, 100, 100, 100]);
  assert.deepEqual(countsOf(make(weightedLeast, hostsOf([1, 1, 1, 0.5])), 4, 350), [100, 100, 100, 50]);
  const two = countsOf(make(twoChoices, hostsOf([1, 1, 1, 1])), 4, 400);
  assert.ok(
    two.every((count) => Math.abs(count - 100) <= 4),
    two.join(' '),
  );
});

test('in flight is counted until the end', () => {
  const policy = make(leastInFlight, hostsOf([1, 1]));
  const first = policy.pick(request(0), [], 0);
  assert.notEqual(policy.pick(request(1), [], 0), first);
  policy.onEnd?.(attempt(request(0), first), { outcome: 'ok', now: 1, retryAfterMs: null });
  assert.equal(policy.pick(request(2), [], 0), first);
});

test('a polled policy sees what was true at its last look', () => {
  const loads = [
    { running: 3, waiting: 1 },
    { running: 0, waiting: 2 },
  ];
  const policy = make(polled(1000), hostsOf([1, 1], loads));
  policy.ticks?.tick(0);
  loads[1] = { running: 32, waiting: 99 };
  assert.deepEqual(countsOf(policy, 2, 10), [0, 10]);
  policy.ticks?.tick(1000);
  assert.deepEqual(countsOf(policy, 2, 10), [10, 0]);
});

test('an average of completions sends to the host that was quicker', () => {
  const policy = make(completionAverage, hostsOf([1, 1]));
  for (const host of [0, 1]) {
    policy.pick(request(host), [1 - host], 0);
    policy.onEnd?.(attempt(request(host), host), { outcome: 'ok', now: host === 0 ? 100 : 400, retryAfterMs: null });
  }
  assert.deepEqual(countsOf(policy, 2, 5), [4, 1]);
});

test('prefixes: the same beginning to the same host, and past the gate elsewhere', () => {
  const talk = (id: number) => request(id, { blocks: [0, 5, 6, 7] });
  for (const spec of [hashOfPrefix, maxPrefix, prefixScore, gatedPrefix]) {
    const policy = make(spec, hostsOf([1, 1, 1, 1]));
    const first = policy.pick(talk(0), [], 0);
    policy.onEnd?.(attempt(talk(0), first), { outcome: 'ok', now: 1, retryAfterMs: null });
    assert.equal(policy.pick(talk(1), [], 0), first, spec.name);
  }
  const counts = (spec: PolicySpec): number => {
    const policy = make(spec, hostsOf([1, 1, 1, 1]));
    const hosts = Array.from({ length: 40 }, (_, id) => policy.pick(talk(id), [], 0));
    return Math.max(...[0, 1, 2, 3].map((host) => hosts.filter((one) => one === host).length));
  };
  assert.equal(counts(maxPrefix), 40);
  assert.ok(counts(gatedPrefix) < 25, String(counts(gatedPrefix)));
});

test('warm models: where the model is, unless it is crowded there', () => {
  const policy = make(gatedWarm, hostsOf([1, 1, 1, 1]));
  const hosts = Array.from({ length: 3 }, (_, id) => policy.pick(request(id, { model: 9 }), [], 0));
  assert.equal(new Set(hosts).size, 1);
  const more = Array.from({ length: 40 }, (_, id) => policy.pick(request(id + 3, { model: 9 }), [], 0));
  assert.ok(new Set(more).size > 1);
});
