import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createAgenda } from './agenda.ts';
import { WELL, type Condition } from './condition.ts';
import { createHost, type Host, type HostModel } from './host.ts';
import { createRandom } from './random.ts';
import type { Attempt, SimRequest } from './request.ts';

const MODEL: HostModel = {
  slots: 2,
  prefillPerSecond: 1000,
  prefillSlowdown: 0,
  msPerToken: 10,
  cacheBlocks: 0,
  tokensPerBlock: 16,
  models: null,
};

interface Arrival extends Partial<SimRequest> {
  readonly at: number;
}

interface Bench {
  readonly host: Host;
  /** `[id, what, ms]`, ms rounded to thousandths. */
  readonly log: (readonly [number, 'first' | 'done' | 'error' | 'rejected', number])[];
  readonly at: (ms: number, action: () => void) => void;
  readonly attempts: readonly Attempt[];
  readonly run: () => void;
}

function bench(arrivals: readonly Arrival[], model: Partial<HostModel> = {}, speed = 1): Bench {
  const agenda = createAgenda();
  const log: [number, 'first' | 'done' | 'error' | 'rejected', number][] = [];
  const note = (id: number, what: 'first' | 'done' | 'error' | 'rejected'): void => {
    log.push([id, what, Math.round(agenda.now() * 1000) / 1000]);
  };
  const host = createHost({
    model: { ...MODEL, ...model },
    speed,
    agenda,
    random: createRandom(1),
    onFirstToken: ({ request }) => note(request.id, 'first'),
    onDone: ({ request }) => note(request.id, 'done'),
  });
  const attempts = arrivals.map((arrival, id): Attempt => {
    const request = { promptTokens: 100, outputTokens: 11, blocks: [], model: null, ...arrival, id };
    return { request, host: 0, number: 1, startedAt: arrival.at };
  });
  for (const attempt of attempts) {
    agenda.at(attempt.startedAt, () => {
      const answer = host.accept(attempt);
      if (answer !== 'taken') note(attempt.request.id, answer);
    });
  }
  return { host, log, attempts, at: agenda.at, run: () => agenda.run(() => false) };
}

const ill = (condition: Partial<Condition>): Condition => ({ ...WELL, ...condition });

test('a request alone: the prompt at full pace, then a token each 10 ms', () => {
  const { log, run } = bench([{ at: 5 }]);
  run();
  assert.deepEqual(log, [
    [0, 'first', 105],
    [0, 'done', 205],
  ]);
});

test('two share a batch at half the pace, and a third waits for a slot', () => {
  const { log, run, host } = bench([
    { at: 0, promptTokens: 100, outputTokens: 11 },
    { at: 150, promptTokens: 50, outputTokens: 3 },
    { at: 160, promptTokens: 10, outputTokens: 1 },
  ]);
  run();
  // The first has 5 of 10 tokens at 150, then a token each 20 ms; at 240 half a token is left, which takes 10 ms beside the third.
  assert.deepEqual(log, [
    [0, 'first', 100],
    [1, 'first', 200],
    [1, 'done', 240],
    [2, 'first', 250],
    [0, 'done', 250],
    [2, 'done', 250],
  ]);
  assert.deepEqual(host.load(), { running: 0, waiting: 0 });
  assert.equal(host.work().promptTokens, 160);
});

test('a prompt is read more slowly in a full host', () => {
  const { log, run } = bench(
    [
      { at: 0, outputTokens: 1 },
      { at: 0, outputTokens: 1 },
    ],
    { prefillSlowdown: 0.5 },
  );
  run();
  assert.deepEqual(
    log.map(([, , ms]) => ms),
    [150, 150, 150, 150],
  );
});

test('a host of half the speed takes twice the time', () => {
  const { log, run } = bench([{ at: 0 }], {}, 0.5);
  run();
  assert.deepEqual(log, [
    [0, 'first', 200],
    [0, 'done', 400],
  ]);
});

test('a fault changes the pace of what runs, and goes as it came', () => {
  const { log, run, host, at } = bench([{ at: 0 }]);
  at(50, () => host.setCondition(ill({ prefillSpeed: 0.1, decodeSpeed: 0.1 })));
  at(150, () => host.setCondition(WELL));
  at(200, () => host.setCondition(ill({ prefillSpeed: 0, decodeSpeed: 0 })));
  at(300, () => host.setCondition(ill({ decodeSpeed: 0.5 })));
  run();
  // 50 tokens of prompt by 50, 10 more by 150, the rest by 190; then 1 token by 200, none by 300, 9 in 20 ms each.
  assert.deepEqual(log, [
    [0, 'first', 190],
    [0, 'done', 480],
  ]);
});

test('what begins under a burden keeps it', () => {
  const { log, run, host, at } = bench([{ at: 0 }, { at: 500 }]);
  host.setCondition(ill({ burden: 3 }));
  at(50, () => host.setCondition(WELL));
  run();
  assert.deepEqual(log, [
    [0, 'first', 300],
    [1, 'first', 600],
    // 20 tokens of its 30 by 500, then 20 ms each; the other has 5 left then, for itself.
    [0, 'done', 700],
    [1, 'done', 750],
  ]);
});

test('errors and 429 come at once and take no slot', () => {
  const { log, run, host, at } = bench([{ at: 0 }, { at: 1 }, { at: 2 }]);
  at(0.5, () => host.setCondition(ill({ errorShare: 1 })));
  at(1.5, () => host.setCondition(ill({ limit: 1 })));
  run();
  assert.deepEqual(log.slice(0, 2), [
    [1, 'error', 1],
    [2, 'rejected', 2],
  ]);
  assert.equal(host.work().requests, 1);
});

test('a cancelled attempt frees its slot or its place, whichever it has', () => {
  const { log, run, host, at, attempts } = bench([{ at: 0 }, { at: 0 }, { at: 0 }, { at: 0 }]);
  at(10, () => host.cancel(attempts[2]!));
  at(20, () => host.cancel(attempts[0]!));
  at(30, () => host.cancel(attempts[0]!));
  run();
  assert.deepEqual(
    log.filter(([, what]) => what === 'first'),
    [
      [1, 'first', 100],
      [3, 'first', 120],
    ],
  );
});

test('known blocks are not computed again', () => {
  const { log, run, host } = bench(
    [
      { at: 0, promptTokens: 48, outputTokens: 1, blocks: [1, 2, 3] },
      { at: 1000, promptTokens: 48, outputTokens: 1, blocks: [1, 2, 4] },
      { at: 2000, promptTokens: 48, outputTokens: 1, blocks: [1, 2, 4] },
    ],
    { cacheBlocks: 10 },
  );
  run();
  assert.deepEqual(
    log.filter(([, what]) => what === 'first').map(([, , ms]) => ms),
    [48, 1016, 2001],
  );
  assert.deepEqual(host.work(), { requests: 3, promptTokens: 48 + 16 + 1, blocks: 9, cachedBlocks: 5, modelLoads: 0 });
});

test('a model that is not there is loaded once, for all who wait for it', () => {
  const { log, run, host } = bench(
    [
      { at: 0, outputTokens: 1, model: 7 },
      { at: 50, outputTokens: 1, model: 7 },
      { at: 1000, outputTokens: 1, model: 8 },
      { at: 2000, outputTokens: 1, model: 7 },
    ],
    { models: { room: 1, loadMs: 200 } },
  );
  run();
  assert.deepEqual(
    log.filter(([, what]) => what === 'first').map(([, , ms]) => ms),
    [300, 300, 1300, 2300],
  );
  assert.equal(host.work().modelLoads, 3);
});

test('every attempt ends once, in whatever state the host is put', () => {
  const arrival = fc.record({
    at: fc.integer({ min: 0, max: 3000 }),
    promptTokens: fc.integer({ min: 1, max: 400 }),
    outputTokens: fc.integer({ min: 1, max: 60 }),
    model: fc.constantFrom(null, 1, 2, 3),
    blocks: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }),
  });
  const change = fc.record({
    at: fc.integer({ min: 0, max: 3000 }),
    condition: fc.record({
      prefillSpeed: fc.constantFrom(0, 0.1, 1),
      decodeSpeed: fc.constantFrom(0, 0.1, 1),
      burden: fc.constantFrom(1, 4),
      errorShare: fc.constantFrom(0, 0.5, 1),
      limit: fc.constantFrom(null, 1, 3),
    }),
  });
  const cancels = fc.array(fc.record({ at: fc.integer({ min: 0, max: 3000 }), id: fc.nat(39) }), { maxLength: 10 });
  fc.assert(
    fc.property(
      fc.array(arrival, { minLength: 1, maxLength: 40 }),
      fc.array(change, { maxLength: 10 }),
      cancels,
      (arrivals, changes, gone) => {
        const { log, run, host, at, attempts } = bench(arrivals, {
          cacheBlocks: 3,
          models: { room: 2, loadMs: 70 },
        });
        const cancelled = new Set<number>();
        for (const { at: ms, condition } of changes) at(ms, () => host.setCondition(condition));
        for (const { at: ms, id } of gone) {
          const attempt = attempts[id];
          if (attempt === undefined) continue;
          at(ms, () => {
            const isOver = log.some(([other, what]) => other === id && what !== 'first');
            if (isOver || attempt.startedAt >= ms) return;
            cancelled.add(id);
            host.cancel(attempt);
          });
        }
        at(3001, () => host.setCondition(WELL));
        run();
        for (const { request } of attempts) {
          const ends = log.filter(([id, what]) => id === request.id && what !== 'first').length;
          assert.equal(ends, cancelled.has(request.id) ? 0 : 1, `request ${request.id}`);
          const first = log.filter(([id, what]) => id === request.id && what === 'first').length;
          assert.ok(first <= 1);
        }
        assert.deepEqual(host.load(), { running: 0, waiting: 0 });
      },
    ),
    { numRuns: 200 },
  );
});
