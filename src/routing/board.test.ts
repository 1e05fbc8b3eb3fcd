import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Board } from './board.ts';
import { ASK, rig, target } from './routing-kit.test.ts';

const A = target('a');
const B = target('b');
const C = target('c');

test('a lease ends once, by its outcome or by its expiry', () => {
  const board = new Board();
  const began = board.begin(A, ASK, 0, 1000);
  assert.equal(board.of(A).running, 1);
  assert.equal(board.sweep(999), 0);
  assert.equal(board.sweep(1000), 1);
  assert.equal(board.of(A).running, 0);
  board.end(began, { kind: 'failed' }, 1001);
  assert.equal(board.of(A).running, 0);
  assert.equal(board.of(A).errorRate(1001), 0);
});

test('a server that came back under its old name begins with nothing', () => {
  const board = new Board();
  const old = board.begin(A, ASK, 0, 1e6);
  const again = { ...A, incarnation: 'a#2' };
  assert.equal(board.of(again).running, 0);
  board.end(old, { kind: 'served', tokens: 1 }, 5);
  assert.equal(board.of(again).running, 0);
});

test('others count while they speak', () => {
  const board = new Board();
  board.of(A);
  board.heed('replica', new Map([['a', 3]]), 1000);
  assert.equal(board.of(A).running, 3);
  board.heed('replica', new Map([['a', 1]]), 2000);
  assert.equal(board.of(A).running, 1);
  assert.deepEqual([...board.load()], []);
  board.sweep(2000);
  assert.equal(board.of(A).running, 0);
});

test('what nobody uses is forgotten, what runs is not', () => {
  const board = new Board({ forgetMs: 1000 });
  board.begin(A, ASK, 0, 1e6);
  board.heed('replica', new Map([['b', 1]]), 1e6);
  board.of(B);
  const first = board.of(B);
  board.sweep(5000);
  assert.equal(board.of(A).running, 1);
  assert.notEqual(board.of(B), first);
});

test('counts are never negative and end at nothing, in any order of words', () => {
  const words = fc.array(fc.tuple(fc.constantFrom('begin', 'first', 'end', 'sweep'), fc.nat(9), fc.nat(500)), {
    maxLength: 200,
  });
  const outcomes = [
    { kind: 'served', tokens: 5 },
    { kind: 'failed' },
    { kind: 'busy', retryAfterMs: null },
    { kind: 'neutral' },
  ] as const;
  fc.assert(
    fc.property(words, (all) => {
      const board = new Board();
      const began: ReturnType<Board['begin']>[] = [];
      let now = 0;
      for (const [word, which, passed] of all) {
        now += passed;
        const one = began[which % Math.max(1, began.length)];
        if (word === 'begin') began.push(board.begin([A, B, C][which % 3] ?? A, ASK, now, now + 1000));
        else if (word === 'sweep') board.sweep(now);
        else if (one !== undefined && word === 'first') board.firstToken(one, now);
        else if (one !== undefined) board.end(one, outcomes[which % 4] ?? outcomes[0], now);
        const open = began.filter(({ lease }) => !lease.isOver).length;
        assert.equal(
          [A, B, C].reduce((sum, each) => sum + board.of(each).running, 0),
          open,
        );
        const health = board.of(A).health(now);
        assert.ok(health >= 0.05 && health <= 1, String(health));
      }
      board.sweep(now + 1000);
      for (const each of [A, B, C]) assert.equal(board.of(each).running, 0);
    }),
  );
});

/** Equal work for all three; `slow` times as long for the last one. */
function work(slow: number, seconds: number, from = 0) {
  const made = rig();
  for (let now = from; now < from + seconds * 1000; now += 100)
    for (const each of [A, B, C]) made.serve(each, now, each === C ? 200 * slow : 200);
  return made;
}

test('health: noise is none, twice as slow is half, a tenth of the speed is almost nothing', () => {
  const now = 12_000;
  assert.equal(work(1.2, 10).board.of(C).health(now), 1);
  assert.ok(Math.abs(work(2, 10).board.of(C).health(now) - 0.5) < 0.05);
  assert.ok(work(10, 10).board.of(C).health(now) < 0.1);
  assert.equal(work(10, 10).board.of(A).health(now), 1);
});

test('a stall shows before anything ends', () => {
  const made = work(1, 10);
  made.begin(C, 10_000);
  assert.equal(made.board.of(C).health(10_200), 1);
  assert.ok(made.board.of(C).health(11_000) < 0.25);
  assert.ok(made.board.of(C).health(13_000) < 0.1);
  assert.equal(made.board.of(A).health(13_000), 1);
});

test('a large prompt may take its time', () => {
  const made = rig();
  for (let now = 0; now < 10_000; now += 50)
    for (const each of [A, B, C]) {
      const promptTokens = now % 100 === 0 ? 100 : 8000;
      const began = made.reporter.begin(each, { ...ASK, promptTokens }, now, 1e9);
      made.reporter.firstToken(began, now + 50 + promptTokens / 8);
      made.reporter.end(began, { kind: 'served', tokens: 1 }, now + 60 + promptTokens / 8);
    }
  const expected = made.board.of(A).pace('chat').expected(4000);
  assert.ok(expected !== null && Math.abs(expected - 550) < 30, String(expected));
  made.reporter.begin(C, { ...ASK, promptTokens: 8000 }, 10_000, 1e9);
  assert.equal(made.board.of(C).health(11_000), 1);
  assert.ok(made.board.of(C).health(13_500) < 0.5);
});

test('it comes back slowly', () => {
  const made = work(10, 10);
  const sick = made.board.of(C).health(12_100);
  for (let now = 12_100; now < 24_000; now += 100) for (const each of [A, B, C]) made.serve(each, now);
  const [soon, later] = [made.board.of(C).health(24_100), made.board.of(C).health(54_000)];
  assert.ok(sick < soon && soon < 0.85 && later > 0.95, `${sick} ${soon} ${later}`);
});

test('of two, the faster one is the measure', () => {
  const made = rig();
  for (let now = 0; now < 5000; now += 100) {
    made.serve(A, now, 200);
    made.serve(B, now, 2000);
  }
  assert.equal(made.board.of(A).health(7500), 1);
  assert.ok(made.board.of(B).health(7500) < 0.2);
});

test('429 lowers the limit at once and good answers raise it again', () => {
  const board = new Board();
  const began = Array.from({ length: 20 }, () => board.begin(A, ASK, 0, 1e6));
  board.end(began[0]!, { kind: 'busy', retryAfterMs: 500 }, 10);
  const { busy } = board.of(A);
  assert.equal(busy.limit, 14);
  assert.equal(busy.restUntil, 510);
  // The others that were sent before the first came back say nothing new.
  board.end(began[1]!, { kind: 'busy', retryAfterMs: null }, 20);
  assert.equal(busy.limit, 14);
  for (let more = 0; more < 400; more += 1) {
    const one = board.begin(A, ASK, 2000 + more, 1e6);
    board.end(one, { kind: 'served', tokens: 1 }, 2000 + more);
  }
  // Nineteen at once went well; whether more would, nobody has seen.
  assert.equal(busy.limit, 20);
  assert.equal(board.of(A).errorRate(3000), 0);
});

test('whole answers are held against others of their length', () => {
  const made = rig();
  const ask = { ...ASK, kind: 'whole', stream: false, outputTokens: 1000 };
  const serve = (to: typeof A, now: number, tokens: number, ms: number): void => {
    const began = made.reporter.begin(to, ask, now, 1e9);
    made.reporter.end(began, { kind: 'served', tokens }, now + ms);
  };
  for (let now = 0; now < 20_000; now += 100) {
    const tokens = 10 + (now % 700);
    for (const each of [A, B]) serve(each, now, tokens, 100 + 20 * tokens);
    serve(C, now, tokens, (100 + 20 * tokens) * 3);
  }
  const end = 20_000 + 45_000;
  assert.equal(made.board.of(A).health(end), 1);
  assert.ok(made.board.of(C).health(end) < 0.4);
  // A long answer may take its time, a stall may not.
  made.reporter.begin(A, ask, end, 1e9);
  assert.equal(made.board.of(A).health(end + 10_000), 1);
  assert.ok(made.board.of(A).health(end + 200_000) < 0.5);
});

test('what nobody has seen for a minute holds nobody back', () => {
  const made = work(10, 10);
  for (let now = 12_100; now < 100_000; now += 100) for (const each of [A, B]) made.serve(each, now);
  made.board.of(C).health(60_000);
  assert.ok(made.board.of(C).health(100_000) > 0.7);
});

test('a target that may have more room again shows it, whatever it was taught by 429s', () => {
  const made = rig();
  const limit = (): number => made.board.of(A).busy.limit ?? NaN;
  const began = Array.from({ length: 8 }, () => made.begin(A, 0));
  made.reporter.end(began[0]!, { kind: 'busy', retryAfterMs: null }, 0);
  for (const one of began.slice(1)) made.reporter.end(one, { kind: 'served', tokens: 1 }, 1);
  assert.equal(limit(), 5);
  // Its load is held against what it is good for: else it would never again run as many as it is allowed.
  assert.equal(made.decide([A], 20_000).order[0]?.load, 1 / 32);
  for (let now = 20_000; limit() !== 32; now += 1000) {
    assert.ok(now < 60_000);
    const many = Array.from({ length: limit() }, () => made.begin(A, now));
    for (const one of many.toReversed()) made.reporter.end(one, { kind: 'served', tokens: 1 }, now + 500);
  }
});

test('streams that began in better times do not cover errors', () => {
  const made = rig();
  const old = Array.from({ length: 20 }, () => made.begin(A, 0));
  for (let now = 1000; now < 7000; now += 1000) {
    made.fail(A, now);
    made.reporter.end(old.pop()!, { kind: 'served', tokens: 1 }, now + 500);
  }
  assert.ok(made.board.of(A).errorRate(7000) > 0.5, String(made.board.of(A).errorRate(7000)));
  assert.equal(made.breakers.of(A, ASK.kind).state(7000), 'soft');
});

test('a stream that goes on for too long tells before its end, until a later one is through', () => {
  const made = rig();
  for (let now = 0; now < 10_000; now += 100) for (const each of [A, B, C]) made.serve(each, now);
  const slow = made.begin(C, 12_000);
  made.reporter.firstToken(slow, 12_200);
  assert.equal(made.board.of(C).health(14_000), 1);
  assert.ok(made.board.of(C).health(30_000) < 0.5, String(made.board.of(C).health(30_000)));
  for (let now = 30_000; now < 60_000; now += 100) for (const each of [A, B, C]) made.serve(each, now);
  assert.ok(made.board.of(C).health(100_000) > 0.95, String(made.board.of(C).health(100_000)));
});

test('errors in a row take nearly all of its share, one alone next to nothing', () => {
  const made = work(1, 10);
  made.fail(C, 12_000);
  assert.ok(made.board.of(C).health(12_010) > 0.8);
  for (let more = 1; more < 5; more += 1) made.fail(C, 12_000 + more);
  assert.ok(made.board.of(C).health(12_010) < 0.1);
  made.serve(C, 12_100);
  const [soon, later] = [made.board.of(C).health(15_000), made.board.of(C).health(60_000)];
  assert.ok(soon < 0.4 && later > 0.9, `${soon} ${later}`);
});

test('one that refuses even a single request rests, longer each time, until it answers', () => {
  const board = new Board();
  const refuse = (now: number): number => {
    board.end(board.begin(A, ASK, now, 1e6), { kind: 'busy', retryAfterMs: null }, now);
    return board.of(A).busy.restUntil - now;
  };
  assert.deepEqual(
    [refuse(0), refuse(1000), refuse(3000), refuse(7000), refuse(15_000)],
    [1000, 2000, 4000, 8000, 8000],
  );
  board.end(board.begin(A, ASK, 23_000, 1e6), { kind: 'served', tokens: 1 }, 23_100);
  assert.equal(refuse(24_000), 1000);
});
