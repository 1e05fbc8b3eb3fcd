import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TryOutcome, TryWork } from '../core/ports/try-watch.ts';
import type { Deployment } from '../core/snapshot.ts';
import { NOTHING_WARM } from '../core/warm.ts';
import type { Began } from '../routing/board.ts';
import { createEngine } from '../routing/engine.ts';
import type { Outcome, Target } from '../routing/target.ts';
import { watchTries } from './watch-tries.ts';

const DEPLOYMENT = {
  id: 'm@a',
  model: 'm',
  backend: { name: 'a', endpoints: [{ host: '10.0.0.1', port: 80, weight: 1 }] },
  weight: 0,
  price: { currency: 'EUR', promptPerMtok: 0, cachedPerMtok: 0, completionPerMtok: 0 },
  profile: { p95Ms: null, firstTokenMs: null, tokenMs: null, quality: 1, qualityFor: new Map() },
  concurrency: null,
} as unknown as Deployment;

const WORK: TryWork = {
  request: 'r1',
  kind: 'chat.stream',
  stream: true,
  warm: NOTHING_WARM,
  promptTokens: 5,
  outputTokens: 9,
  deadline: 30_000,
};

/** What the core is told of one try that ends so. */
function toldOf(outcome: TryOutcome): Outcome | undefined {
  const { tries } = createEngine();
  const told: Outcome[] = [];
  const spy = {
    begin: (...args: Parameters<typeof tries.begin>) => tries.begin(...args),
    firstToken() {},
    end: (_began: Began, end: Outcome) => void told.push(end),
  } as unknown as typeof tries;
  watchTries({ tries: spy }, { now: () => 0, time: () => 0 }, { loadedTry() {} })
    .begin({ deployment: DEPLOYMENT }, WORK)
    .end(outcome);
  return told[0];
}

test('what an ending says of a deployment', () => {
  const failed = (status: number | null, retryAfterMs: number | null = null): TryOutcome => ({
    kind: 'failed',
    status,
    retryAfterMs,
  });
  const cases: readonly (readonly [TryOutcome, Outcome])[] = [
    [
      { kind: 'served', completionTokens: 7 },
      { kind: 'served', tokens: 7 },
    ],
    [{ kind: 'left' }, { kind: 'neutral' }],
    [failed(null), { kind: 'failed' }],
    [failed(200), { kind: 'failed' }],
    [failed(500), { kind: 'failed' }],
    [failed(529), { kind: 'failed' }],
    [failed(429), { kind: 'busy', retryAfterMs: null }],
    [failed(429, 1500), { kind: 'busy', retryAfterMs: 1500 }],
    [failed(429, 3_600_000), { kind: 'busy', retryAfterMs: 30_000 }],
    ...[400, 401, 403, 404, 422].map((status) => [failed(status), { kind: 'neutral' }] as const),
  ];
  for (const [outcome, told] of cases) assert.deepEqual(toldOf(outcome), told, JSON.stringify(outcome));
});

test('a try is known by its deployment and its addresses, and outlives the deadline of its request', () => {
  const begun: { target: Target; expiresAt: number }[] = [];
  const firsts: number[] = [];
  const spy = {
    begin: (_request: string, target: Target, _work: unknown, _now: number, expiresAt: number) => {
      begun.push({ target, expiresAt });
      return {};
    },
    firstToken: (_began: unknown, now: number) => void firsts.push(now),
    end() {},
  } as unknown as ReturnType<typeof createEngine>['tries'];
  const watch = watchTries({ tries: spy }, { now: () => 5, time: () => 0 }, { loadedTry() {} });
  watch.begin({ deployment: DEPLOYMENT }, WORK).firstToken();
  watch.begin({ deployment: DEPLOYMENT }, { ...WORK, stream: false }).firstToken();
  assert.equal(begun[0]?.target.incarnation, 'm@a 10.0.0.1:80');
  assert.ok((begun[0]?.expiresAt ?? 0) > WORK.deadline);
  // The first piece of a whole answer is no sign of its speed.
  assert.deepEqual(firsts, [5]);
});

test('a try of a model that must be loaded is told once, cold or warm, with its time where it answered', () => {
  const told: (readonly [string, number | null])[] = [];
  const clock = { at: 0, now: () => clock.at, time: () => 0 };
  const watch = watchTries(createEngine(), clock, { loadedTry: (_, state, seconds) => told.push([state, seconds]) });
  const work: TryWork = { ...WORK, warm: { keys: [1], tokensAKey: 0, mustLoad: true } };
  const cold = watch.begin({ deployment: DEPLOYMENT }, work);
  assert.equal(cold.isCold, true);
  clock.at = 4000;
  cold.firstToken();
  cold.end({ kind: 'served', completionTokens: 3 });
  const warm = watch.begin({ deployment: DEPLOYMENT }, { ...work, stream: false });
  clock.at = 4500;
  warm.end({ kind: 'served', completionTokens: 3 });
  watch.begin({ deployment: DEPLOYMENT }, work).end({ kind: 'left' });
  watch.begin({ deployment: DEPLOYMENT }, WORK).end({ kind: 'left' });
  assert.deepEqual(told, [
    ['cold', 4],
    ['warm', 0.5],
    ['warm', null],
  ]);
});
