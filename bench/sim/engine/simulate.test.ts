import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HOST } from '../scenarios/scenario.ts';
import { changesOf, type FaultKind } from './condition.ts';
import type { Ending, Policy, PolicySpec } from './policy.ts';
import { createRandom } from './random.ts';
import type { Attempt, SimRequest } from './request.ts';
import { simulate, type World } from './simulate.ts';
import { tokenlat } from '../policies/tokenlat.ts';
import { randomPolicy } from '../policies/random.ts';

const KINDS: readonly FaultKind[] = [
  'slow',
  'slow-at-start',
  'errors',
  'hang',
  'slow-tokens',
  'rejects',
  'slow-ramp',
  'flapping',
];

function requestsAt(times: readonly number[]): readonly SimRequest[] {
  return times.map((at, id) => ({ id, at, promptTokens: 80, outputTokens: 5, blocks: [], model: null }));
}

function world(given: Partial<World>): World {
  const requests = requestsAt([0]);
  return { model: HOST, speeds: [1, 1], requests, changes: [], tries: 3, patienceMs: 1000, seed: 1, ...given };
}

interface Seen {
  readonly attempt: Attempt;
  readonly ending: Ending | null;
}

/** Takes hosts in the order of the list, try after try, and notes what it was told. */
function scripted(order: readonly (number | null)[]): { readonly spec: PolicySpec; readonly seen: Seen[] } {
  const seen: Seen[] = [];
  const policy: Policy = {
    pick: (_request, tried) => order[tried.length] ?? null,
    onFirstToken: (attempt) => void seen.push({ attempt, ending: null }),
    onEnd: (attempt, ending) => void seen.push({ attempt, ending }),
  };
  return { spec: { name: 'scripted', create: () => policy }, seen };
}

const down = (host: number, kind: FaultKind) => changesOf(kind, { host, from: 0, to: 100_000 });

test('an answer: first token and end, counted from the arrival', () => {
  const { spec, seen } = scripted([1]);
  const { answers, picks, hosts } = simulate(world({ requests: requestsAt([500]) }), spec);
  assert.equal(answers.length, 1);
  const [{ ttftMs, totalMs, outcome, tries }] = answers as [(typeof answers)[number]];
  assert.deepEqual([ttftMs, totalMs, outcome, tries].map(round), [10, 110, 'ok', 1]);
  assert.deepEqual(picks, [{ at: 500, host: 1, number: 1 }]);
  assert.deepEqual(
    seen.map(({ ending }) => ending?.outcome),
    [undefined, 'ok'],
  );
  assert.deepEqual(
    hosts.map(({ requests }) => requests),
    [0, 1],
  );
});

test('what fails before its first token is tried on the next host', () => {
  const { spec, seen } = scripted([0, 1]);
  const { answers } = simulate(world({ changes: down(0, 'errors') }), spec);
  assert.deepEqual(
    seen.flatMap(({ attempt, ending }) => (ending === null ? [] : [[attempt.host, attempt.number, ending.outcome]])),
    [
      [0, 1, 'error'],
      [1, 2, 'ok'],
    ],
  );
  assert.deepEqual([answers[0]?.outcome, answers[0]?.tries, round(answers[0]?.ttftMs)], ['ok', 2, 15]);
});

test('after the last try the client has the failure', () => {
  const { spec } = scripted([0, 0, 0, 1]);
  const { answers, picks } = simulate(world({ changes: down(0, 'errors') }), spec);
  assert.deepEqual([answers[0]?.outcome, answers[0]?.tries, picks.length, answers[0]?.ttftMs], ['error', 3, 3, null]);
});

test('a host that says nothing is given up after a while, a stream that stops is cut', () => {
  const hang = changesOf('hang', { host: 0, from: 50, to: 60_000 });
  const { spec, seen } = scripted([0, 1]);
  const { answers } = simulate(world({ requests: requestsAt([0, 55]), changes: hang }), spec);
  assert.deepEqual(
    answers.map(({ request, outcome, totalMs }) => [request.id, outcome, round(totalMs)]),
    [
      [0, 'stalled', 1050],
      [1, 'ok', 1110],
    ],
  );
  assert.equal(seen.find(({ ending }) => ending?.outcome === 'timeout')?.ending?.now, 1055);
});

test('a 429 says when to come again', () => {
  const requests = requestsAt([0, 0, 0, 0, 0]);
  const { spec, seen } = scripted([0, 1]);
  simulate(world({ requests, changes: down(0, 'rejects') }), spec);
  assert.deepEqual(
    seen.filter(({ ending }) => ending?.outcome === 'rejected').map(({ ending }) => ending?.retryAfterMs),
    [1000],
  );
});

test('a policy may refuse, and may not pick what is not there', () => {
  const { answers, picks } = simulate(world({}), scripted([]).spec);
  assert.deepEqual([answers[0]?.outcome, picks.length], ['refused', 0]);
  assert.throws(() => simulate(world({}), scripted([2]).spec), RangeError);
});

test('every request is answered once and every start is ended once, whatever happens to the hosts', () => {
  const options = fc.record({
    kind: fc.constantFrom(...KINDS),
    seed: fc.nat(1000),
    count: fc.integer({ min: 1, max: 200 }),
    everyMs: fc.integer({ min: 1, max: 400 }),
    isOurs: fc.boolean(),
  });
  fc.assert(
    fc.property(options, ({ kind, seed, count, everyMs, isOurs }) => {
      const inner = isOurs ? tokenlat : randomPolicy;
      const open = new Set<Attempt>();
      let started = 0;
      let ended = 0;
      const spec: PolicySpec = {
        name: 'watched',
        create: (given) => {
          const policy = inner.create(given);
          return {
            ...policy,
            pick: (...asked) => {
              const host = policy.pick(...asked);
              if (host !== null) started += 1;
              return host;
            },
            onEnd: (attempt, ending) => {
              assert.ok(!open.has(attempt), 'ended twice');
              open.add(attempt);
              ended += 1;
              policy.onEnd?.(attempt, ending);
            },
          };
        },
      };
      const requests = requestsAt(Array.from({ length: count }, (_, at) => at * everyMs));
      const changes = [0, 1, 2].flatMap((host) =>
        changesOf(kind, { host, from: host * 3000, to: host * 3000 + 10_000 }),
      );
      const sorted = changes.toSorted((a, b) => a.at - b.at);
      const { answers } = simulate(world({ speeds: [1, 1, 0.5], requests, changes: sorted, seed }), spec);
      assert.deepEqual(
        answers.map(({ request }) => request.id).toSorted(byNumber),
        requests.map(({ id }) => id),
      );
      assert.equal(ended, started);
    }),
    { numRuns: 60 },
  );
});

test('the same seed gives the same run, another one does not', () => {
  const random = createRandom(5);
  const requests = requestsAt(Array.from({ length: 300 }, () => Math.floor(random() * 10_000)).toSorted(byNumber));
  const run = (seed: number) => JSON.stringify(simulate(world({ requests, seed, speeds: [1, 1, 1] }), tokenlat));
  assert.equal(run(1), run(1));
  assert.notEqual(run(1), run(2));
});

const byNumber = (left: number, right: number): number => left - right;

function round<T>(value: T): T | number {
  return typeof value === 'number' ? Math.round(value) : value;
}
