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
