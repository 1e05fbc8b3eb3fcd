import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import { AttemptLog } from './attempt-log.ts';
import type { ClosingHow } from './closing-how.ts';
import { attemptOf, bench, contextOf, deploymentOf, requestOf, usageOf } from './flow-kit.test.ts';

const COMPLETE: ClosingHow = { kind: 'complete' };

function open() {
  const { options, clock } = bench();
  const log = new AttemptLog({ ...options, ctx: contextOf({ startedAt: 1000 }) });
  const start = (backend: string) => log.start(attemptOf(deploymentOf(backend), log.count + 1));
  return { log, start, clock };
}

/** Tries on `a` that end in some way, and then `b` serves: what is booked of each. */
function thrownAway(end: (log: AttemptLog, clock: { at: number }) => void, isConnected = false) {
  const { options, clock } = bench({ config: { timeouts: { connectMs: 1000 } } });
  const request = requestOf({ promptTokens: 40 });
  const log = new AttemptLog({ ...options, ctx: contextOf({ startedAt: 1000, config: options.config(), request }) });
  log.start(attemptOf(deploymentOf('a'), 1), { mayReplay: true, isConnected });
  end(log, clock);
  log.ended(1);
  clock.at += 200;
  log.start(attemptOf(deploymentOf('b'), 2));
  const [event] = log.thrownAway();
  return [event?.promptTokens, event?.estimated, event?.usageFlag, event?.totalMs, log.replayed().length];
}

test('a try that was taken and never answered costs its prompt, one that nobody took costs nothing', () => {
  const taken = (ms: number) => [40, true, 'unanswered', ms, 1];
  const free = (ms: number, flag: string | null = null) => [0, false, flag, ms, 0];
  const after = (ms: number) => (_: AttemptLog, clock: { at: number }) => (clock.at += ms);
  assert.deepEqual(thrownAway(after(5), true), taken(5), 'on a connection that stood');
  assert.deepEqual(thrownAway(after(5)), free(5), 'refused');
  assert.deepEqual(thrownAway(after(1010)), free(1010), 'nobody there');
  assert.deepEqual(thrownAway(after(700)), taken(700), 'broken after it was sent');
  assert.deepEqual(thrownAway(after(20_000)), taken(20_000), 'silent');
  assert.deepEqual(
    thrownAway((log) => log.answered(200)),
    taken(0),
    'a head, and then nothing',
  );
  assert.deepEqual(
    thrownAway((log) => (log.answered(503), log.failed('status 503', null)), true),
    free(0, 'status 503'),
  );
});

test('the last try is booked like the others when it was taken and nothing came of it', () => {
  const booked = (end: (log: AttemptLog, clock: { at: number }) => void, isConnected = false) => {
    const { options, clock } = bench({ config: { timeouts: { connectMs: 1000 } } });
    const request = requestOf({ promptTokens: 40 });
    const log = new AttemptLog({ ...options, ctx: contextOf({ startedAt: 1000, config: options.config(), request }) });
    log.start(attemptOf(deploymentOf('a'), 1), { isConnected });
    end(log, clock);
    const events = log.thrownAway();
    assert.equal(log.replayed().length, 0);
    return events.map(({ attempt, promptTokens, usageFlag, chargedTo }) =>
      [attempt, promptTokens, usageFlag, chargedTo].join(' '),
    );
  };
  const after =
    (ms: number, told: boolean | null = null) =>
    (log: AttemptLog, clock: { at: number }) => {
      clock.at += ms;
      if (told !== null) log.told(told);
      log.lose();
    };
  const lost = ['1 40 unanswered gateway'];
  assert.deepEqual(booked(after(20_000)), lost, 'silent');
  assert.deepEqual(booked(after(5), true), lost, 'on a connection that stood');
  assert.deepEqual(booked(after(5, true)), lost, 'the proxy says that it was sent');
  assert.deepEqual(
    booked((log, clock) => (log.answered(200), after(5)(log, clock))),
    lost,
    'a head, and then nothing',
  );
  assert.deepEqual(booked(after(5)), [], 'refused');
  assert.deepEqual(booked(after(1010)), [], 'nobody there');
  assert.deepEqual(booked(after(700, false), true), [], 'the proxy says that it was not sent');
  const refused = (log: AttemptLog, clock: { at: number }): void => {
    log.answered(503);
    log.failed('status 503', null);
    after(5)(log, clock);
  };
  assert.deepEqual(booked(refused, true), [], 'an answer, if a bad one');
  assert.deepEqual(
    booked(() => {}, true),
    [],
    'it serves',
  );
});

test('a log without a try has nothing to tell', () => {
  const { log } = open();
  log.answered(200);
  log.failed('x', usageOf(1, 1));
  assert.deepEqual([log.count, log.current, log.status, log.firstTokenMs], [0, null, null, null]);
  log.told(true);
  assert.equal(log.lose(), false);
  assert.deepEqual([log.thrownAway(), log.close(COMPLETE)], [[], []]);
});

test('each try has its own times, and all but the last were given up', () => {
  const { log, start, clock } = open();
  start('a');
  clock.at = 1010.5;
  log.answered(503);
  log.answered(503);
  log.failed('status 503', null);
  clock.at = 1020;
  start('b');
  clock.at = 1030;
  start('c');
  clock.at = 1040;
  log.answered(200);
  clock.at = 1050;
  log.firstToken();
  clock.at = 1060;
  log.firstToken();
  assert.deepEqual([log.count, log.status, log.firstTokenMs, log.current?.number], [3, 200, 50, 3]);
  assert.deepEqual(log.close(COMPLETE), [
    {
      attempt: 1,
      backend: 'a',
      model: 'm',
      outcome: 'failed_over',
      status: 503,
      startedMs: 0,
      firstByteMs: 10.5,
      reason: 'status 503',
    },
    {
      attempt: 2,
      backend: 'b',
      model: 'm',
      outcome: 'failed_over',
      status: null,
      startedMs: 20,
      firstByteMs: null,
      reason: 'given up by the proxy before we saw an answer',
    },
    {
      attempt: 3,
      backend: 'c',
      model: 'm',
      outcome: 'served',
      status: 200,
      startedMs: 30,
      firstByteMs: 40,
      reason: '',
    },
  ]);
});

test('a try that Envoy gave up by its status says so', () => {
  const { log, start } = open();
  start('a');
  log.answered(429);
  start('b');
  assert.equal(log.close(COMPLETE)[0]?.reason, 'status 429');
});

test('the last try is told by how the request ended', () => {
  const outcomes: readonly (readonly [ClosingHow, string])[] = [
    [COMPLETE, 'served'],
    [{ kind: 'failed', error: new GatewayError('upstream_error', 'x') }, 'failed'],
    [{ kind: 'cut', by: 'client' }, 'cut'],
    [{ kind: 'answered', status: 200 }, 'unknown'],
  ];
  for (const [how, outcome] of outcomes) {
    const { log, start } = open();
    start('a');
    assert.equal(log.close(how)[0]?.outcome, outcome);
  }
});

test('what a thrown-away try used is our own cost, at the price of where it was spent', () => {
  const { log, start, clock } = open();
  start('a');
  log.failed('upstream_overloaded', usageOf(10, 5));
  clock.at = 1030;
  start('b');
  log.failed('no output', null);
  clock.at = 1070;
  start('c');
  const events = log.thrownAway();
  assert.deepEqual(
    events.map((event) => [
      event.attempt,
      event.backend,
      event.chargedTo,
      event.status,
      event.cost,
      event.totalMs,
      event.usageFlag,
    ]),
    [
      [1, 'a', 'gateway', 'error', 20, 30, 'upstream_overloaded'],
      [2, 'b', 'gateway', 'error', 0, 40, 'no output'],
    ],
  );
});
