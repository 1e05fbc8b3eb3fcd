import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEngine } from './engine.ts';
import { ASK, target } from './routing-kit.test.ts';

const A = target('a');
const B = target('b');

test('what was decided counts at once; the try takes it over and its time begins then', () => {
  const { board, tries } = createEngine();
  tries.decided('r1', A, ASK, 0, 1e6);
  assert.equal(board.of(A).running, 1);
  const began = tries.begin('r1', A, ASK, 50, 1e6);
  assert.deepEqual([board.of(A).running, began.lease.startedAt, tries.waiting], [1, 50, 0]);
  tries.end(began, { kind: 'served', tokens: 1 }, 60);
  assert.equal(board.of(A).running, 0);
});

test('a try elsewhere, an end without a try, and a second decision leave nothing behind', () => {
  const { board, tries } = createEngine();
  tries.decided('r1', A, ASK, 0, 1e6);
  const elsewhere = tries.begin('r1', B, ASK, 10, 1e6);
  assert.deepEqual([board.of(A).running, board.of(B).running], [0, 1]);
  tries.drop('r1', 20);
  assert.equal(board.of(B).running, 1);
  tries.end(elsewhere, { kind: 'failed' }, 30);
  tries.decided('r2', A, ASK, 40, 1e6);
  tries.decided('r2', B, ASK, 50, 1e6);
  assert.deepEqual([board.of(A).running, board.of(B).running], [0, 1]);
  tries.drop('r2', 60);
  tries.drop('r2', 70);
  assert.deepEqual([board.of(A).running, board.of(B).running, tries.waiting], [0, 0, 0]);
});

test('one that was decided on and forgotten is swept, and its try begins anew', () => {
  const { board, tries, sweep } = createEngine();
  tries.decided('r1', A, ASK, 0, 100);
  assert.equal(sweep(100), 1);
  const began = tries.begin('r1', A, ASK, 200, 1e6);
  assert.deepEqual([board.of(A).running, began.lease.isOver], [1, false]);
});

test('who waits for room at a full target does not make it sick, and is reckoned with its own length', () => {
  const { board, tries } = createEngine();
  const whole = { ...ASK, kind: 'chat', stream: false };
  for (let at = 0; at < 20; at += 1) {
    const tokens = 10 + 50 * (at % 3);
    for (const each of [A, B])
      tries.end(tries.begin(`${each.id}${at}`, each, whole, at, 1e6), { kind: 'served', tokens }, at + 10 * tokens);
  }
  tries.decided('r1', A, { ...whole, outputTokens: 0 }, 2000, 1e6);
  assert.equal(board.of(A).health(60_000), 1);
  const began = tries.begin('r1', A, { ...whole, outputTokens: 100 }, 60_000, 1e6);
  assert.equal(began.lease.startedAt, 60_000);
  // Ten tokens would have been there long ago.
  assert.equal(board.of(A).health(60_500), 1);
  assert.ok(board.of(A).health(64_000) < 0.5);
  tries.end(began, { kind: 'neutral' }, 64_000);
  assert.equal(board.of(A).errorRate(64_000), 0);
});

test('a client that loses patience leaves behind how long the target was silent', () => {
  const { board, tries } = createEngine();
  for (let at = 0; at < 2000; at += 100)
    for (const each of [A, B]) {
      const began = tries.begin(`${each.id}${at}`, each, ASK, at, 1e6);
      tries.firstToken(began, at + 50);
      tries.end(began, { kind: 'served', tokens: 1 }, at + 60);
    }
  const began = tries.begin('r1', A, ASK, 3000, 1e6);
  tries.end(began, { kind: 'neutral' }, 8000);
  assert.ok(board.of(A).health(8000) < 0.2);
});

test('an open breaker that another told of is there before the first request, and goes when nobody asks', () => {
  const states: string[] = [];
  const { breakers, sweep } = createEngine({ onBreaker: ({ state }) => states.push(state) });
  breakers.adopt('a', 'chat', 'soft', 0);
  sweep(1000);
  assert.equal(breakers.of(A, 'chat').state(1000), 'soft');
  sweep(700_000);
  assert.deepEqual(states, ['soft', 'closed']);
  assert.deepEqual([...breakers.opened(700_000)], []);
});
