import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Board } from './board.ts';
import { Breakers } from './breakers.ts';
import { Peers } from './peers.ts';
import { ASK, target } from './routing-kit.test.ts';

const A = target('m@a', { incarnation: 'm@a 10.0.0.1:80' });

function worker() {
  const board = new Board();
  const changes: string[] = [];
  const breakers = new Breakers({ onChange: ({ id, state }) => changes.push(`${id} ${state}`) });
  return { board, breakers, changes, peers: new Peers({ board, breakers, keepMs: 5000 }) };
}

const fail = ({ breakers }: ReturnType<typeof worker>, now: number): void => {
  for (let each = 0; each < 6; each += 1) breakers.note(A, 'chat', 'error', now);
};

test('what one runs counts for the other, until it falls silent', () => {
  const [one, two] = [worker(), worker()];
  one.board.begin(A, ASK, 0, 1e6);
  two.board.of(A);
  two.peers.hear([{ peer: 'one', word: one.peers.say(0) }], 0);
  assert.equal(two.board.of(A).running, 1);
  assert.deepEqual(two.peers.say(0).running, []);
  two.board.sweep(5000);
  assert.equal(two.board.of(A).running, 0);
});

test('a breaker opens everywhere by the word of one, and closes when that word is taken back', () => {
  const [one, two, three] = [worker(), worker(), worker()];
  fail(one, 0);
  const word = one.peers.say(10);
  assert.deepEqual(word.open, [['m@a 10.0.0.1:80', 'chat', 'soft', 0]]);
  for (const each of [two, three]) each.peers.hear([{ peer: 'one', word }], 1000);
  for (const each of [two, three]) assert.equal(each.breakers.of(A, 'chat').state(1000), 'soft');
  assert.deepEqual(two.changes, ['m@a soft']);
  // Hearsay is not passed on: nobody keeps it open by quoting the other.
  assert.deepEqual(two.peers.say(1000).open, []);
  two.peers.hear([{ peer: 'one', word: { running: [], open: [], rests: [] } }], 2000);
  assert.equal(two.breakers.of(A, 'chat').state(2000), 'recovering');
  assert.equal(two.breakers.of(A, 'chat').state(20_000), 'closed');
});

test('one opening is taken over once; the next one again', () => {
  const [one, two] = [worker(), worker()];
  fail(one, 0);
  const hear = (now: number): void => two.peers.hear([{ peer: 'one', word: one.peers.say(now) }], now);
  hear(0);
  for (let probe = 0; probe < 3; probe += 1) two.breakers.note(A, 'chat', 'good', 100);
  assert.equal(two.breakers.of(A, 'chat').state(100), 'recovering');
  hear(200);
  assert.equal(two.breakers.of(A, 'chat').state(200), 'recovering');
  for (let probe = 0; probe < 3; probe += 1) one.breakers.note(A, 'chat', 'good', 300);
  one.breakers.of(A, 'chat').state(15_000);
  fail(one, 20_000);
  hear(20_100);
  assert.equal(two.breakers.of(A, 'chat').state(20_100), 'soft');
});

test('what was seen here stays open when another takes its word back', () => {
  const [one, two] = [worker(), worker()];
  fail(one, 0);
  fail(two, 0);
  two.peers.hear([{ peer: 'one', word: one.peers.say(0) }], 10);
  two.peers.hear([], 20);
  assert.equal(two.breakers.of(A, 'chat').state(20), 'soft');
});

test('a rest that one was asked for all keep, and nobody keeps it up by hearsay', () => {
  const [one, two] = [worker(), worker()];
  one.board.end(one.board.begin(A, ASK, 0, 1e6), { kind: 'busy', retryAfterMs: 3000 }, 0);
  two.board.of(A);
  two.peers.hear([{ peer: 'one', word: one.peers.say(1000) }], 1000);
  assert.equal(two.board.of(A).busy.restUntil, 3000);
  assert.deepEqual(two.peers.say(1000).rests, []);
  // A shorter word that comes later takes nothing back.
  two.board.end(two.board.begin(A, ASK, 1500, 1e6), { kind: 'busy', retryAfterMs: 100 }, 1500);
  assert.equal(two.board.of(A).busy.restUntil, 3000);
  assert.deepEqual(one.peers.say(3000).rests, []);
});
