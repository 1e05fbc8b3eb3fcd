/** Pools: each endpoint is a target of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { nameOf, placesOf } from '../../core/places.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import { createEngine } from '../../routing/engine.ts';
import { seededRandom } from '../../lib/hash32/seeded-random.ts';
import { bench, candidate, config, context, deployment, model, route } from './route-kit.test.ts';
import { incarnationOf, targetOf } from './targets.ts';

interface Shape {
  readonly weight?: number;
  readonly zone?: string;
  readonly failureDomain?: string;
}

function pool(name: string, backend: string, shapes: readonly Shape[], changes: Partial<Deployment> = {}): Deployment {
  const made = deployment(name, backend, { weight: 0, ...changes });
  const endpoints = shapes.map((shape, at) => ({ host: `10.0.0.${at}`, port: 80, weight: 1, ...shape }));
  return { ...made, backend: { ...made.backend, pool: { slowStartMs: 0 }, endpoints } };
}

const three = [{}, {}, {}];
const WORK = { promptTokens: 10, outputTokens: 10, kind: 'chat', stream: false };

function rig(snapshot: Snapshot, random = seededRandom(1)) {
  const engine = createEngine({ random });
  const made = bench({ engine, random });
  let count = 0;
  const decide = (headers: readonly (readonly [string, string])[] = []) => {
    count += 1;
    const ctx = { ...context(snapshot, { model: 'm', headers }), id: `r${count}`, deadline: 1e9, time: 0 };
    const step = made.station.run?.(ctx as ReturnType<typeof context>);
    assert.ok(step !== undefined && 'adds' in step);
    return step.adds.decision;
  };
  const fail = (from: Deployment, at: number, times = 12): void => {
    const place = placesOf(from)[at];
    assert.ok(place !== undefined);
    for (let each = 0; each < times; each += 1) {
      const began = engine.tries.begin(`f${each}`, targetOf(place, 1, 1, 0), WORK, 0, 1e9);
      engine.tries.end(began, { kind: 'failed' }, 1);
    }
  };
  return { ...made, engine, decide, fail };
}

const order = ({ candidates }: ReturnType<ReturnType<typeof rig>['decide']>): readonly string[] =>
  candidates.map(nameOf);

test('a burst spreads over the endpoints by what was just decided, and reasons stay those of the deployment', () => {
  const made = rig(config([model('m', 'a', { deployments: [pool('m', 'a', three)] })], []));
  const firsts = Array.from({ length: 30 }, () => made.decide().candidates[0]);
  const counts = new Map<string, number>();
  for (const name of firsts.map(nameOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
  assert.deepEqual(
    [...counts].toSorted(([a], [b]) => a.localeCompare(b)),
    [
      ['m@a/10.0.0.0:80', 10],
      ['m@a/10.0.0.1:80', 10],
      ['m@a/10.0.0.2:80', 10],
    ],
  );
  assert.deepEqual(new Set(firsts.map(({ reason }) => reason)), new Set(['explicit']));
});

test('weights say how much an endpoint can take, with and without a limit', () => {
  for (const concurrency of [null, { limit: 40, perInstance: null }]) {
    const from = pool('m', 'a', [{ weight: 3 }, {}], { concurrency });
    const made = rig(config([model('m', 'a', { deployments: [from] })], []));
    const firsts = Array.from({ length: 40 }, () => nameOf(made.decide().candidates[0]));
    const heavy = firsts.filter((name) => name.endsWith('.0:80')).length;
    assert.ok(Math.abs(heavy - 30) <= 1, String(heavy));
  }
  const [first] = placesOf(pool('m', 'a', [{ weight: 3 }, {}], { concurrency: { limit: 40, perInstance: null } }));
  assert.ok(first !== undefined);
  assert.deepEqual([targetOf(first, 0, 1, 0).capacity, incarnationOf(first)], [30, 'm@a/10.0.0.0:80']);
});

test('in a given order a pool keeps the place of its deployment', () => {
  const deployments = [
    deployment('m', 'x', { weight: 0 }),
    pool('m', 'p', [{}, {}]),
    deployment('m', 'y', { weight: 0 }),
  ];
  const names = order(rig(config([model('m', 'x', { deployments })], [])).decide());
  assert.deepEqual(
    [names[0], names.slice(1, 3).toSorted(), names[3]],
    ['m@x', ['m@p/10.0.0.0:80', 'm@p/10.0.0.1:80'], 'm@y'],
  );
});

test('where candidates are scored, endpoints are candidates like others', () => {
  const models = [
    model('m', 'p', { deployments: [pool('m', 'p', three)] }),
    model('n', 'x', { deployments: [deployment('n', 'x')] }),
  ];
  const score = {
    weights: { cost: 0, latency: 0, quality: 1 },
    load: 0.5,
    costCeiling: null,
    latencyMs: null,
    spread: { kind: 'near', near: 0 },
    expression: null,
    rules: [],
  } as const;
  const by = route('r', { models: ['m'], candidates: [candidate('m'), candidate('n')], score });
  const decision = rig(config(models, [by])).decide();
  assert.equal(order(decision).length, 4);
  assert.equal(decision.candidates[0].reason, 'best_score');
  assert.equal(decision.judged().length, 4);
});

test('rules of a score see the deployment and the backend of an endpoint', () => {
  const models = [
    model('m', 'p', { deployments: [pool('m', 'p', [{ zone: 'a' }, {}])] }),
    model('n', 'x', { deployments: [deployment('n', 'x')] }),
  ];
  const first = (when: string): string => {
    const score = {
      weights: { cost: 0, latency: 0, quality: 1 },
      load: 0,
      costCeiling: null,
      latencyMs: null,
      spread: { kind: 'near', near: 0 },
      expression: null,
      rules: [{ when, multiply: 0.5 }],
    } as const;
    const by = route('r', { models: ['m'], candidates: [candidate('m'), candidate('n')], score });
    return order(rig(config(models, [by])).decide())[0] ?? '';
  };
  assert.equal(first("target.id == 'm@p'"), 'n@x');
  assert.equal(first("target.backend == 'p'"), 'n@x');
  assert.match(first("target.backend == 'x'"), /^m@p/);
});

test('tries lie in different failure domains, else zones', () => {
  const shapes = [{ zone: 'a', failureDomain: 'r1' }, { zone: 'a', failureDomain: 'r1' }, { zone: 'b' }, { zone: 'b' }];
  const from = pool('m', 'a', shapes);
  const made = rig(config([model('m', 'a', { deployments: [from] })], []));
  for (let each = 0; each < 20; each += 1) {
    const domains = made
      .decide()
      .candidates.slice(0, 2)
      .map(({ endpoint }) => endpoint?.failureDomain ?? endpoint?.zone);
    assert.equal(new Set(domains).size, 2, domains.join(' '));
  }
});

test('no sick endpoint while a well one is there; when all are sick, the next deployment, and then whoever there is', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('well', 'failing', 'down'), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      fc.integer(),
      (states, hasOther, seed) => {
        const from = pool(
          'm',
          'p',
          states.map(() => ({})),
        );
        const deployments = [from, ...(hasOther ? [deployment('m', 'x', { weight: 0 })] : [])];
        const made = rig(config([model('m', 'p', { deployments })], []), seededRandom(seed));
        states.forEach((state, at) => {
          const place = placesOf(from)[at];
          assert.ok(place !== undefined);
          if (state === 'failing') made.fail(from, at);
          if (state === 'down')
            made.engine.findings.set(incarnationOf(place), 'network', {
              factor: 0,
              reason: 'network_unreachable',
              detail: '',
              until: 1e9,
            });
        });
        const names = order(made.decide());
        const well = placesOf(from)
          .filter((_, at) => states[at] === 'well')
          .map(nameOf);
        if (well.length > 0 || hasOther)
          assert.deepEqual(names.toSorted(), [...well, ...(hasOther ? ['m@x'] : [])].toSorted());
        else assert.equal(names.length, states.length, 'nobody serves');
      },
    ),
    { numRuns: 200 },
  );
});

test('a conversation stays with the endpoint that has it', () => {
  const deployments = [pool('m', 'a', three)];
  const made = rig(config([model('m', 'a', { deployments, affinity: 'session' })], []));
  const session = [['x-session-id', 's']] as const;
  const home = order(made.decide(session))[0];
  const again = made.decide(session);
  assert.deepEqual([order(again)[0], again.candidates[0].reason], [home, 'warm']);
});
