import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Finding, type OutReason, OUT_REASONS, type Source, SOURCES } from '../core/finding.ts';
import { Board } from './board.ts';
import { Breakers } from './breakers.ts';
import { LEFT_OUT } from '../core/decision.ts';
import { Findings } from './findings.ts';
import { Peers } from './peers.ts';
import { ids, rig, target } from './routing-kit.test.ts';

const A = target('a');
const B = target('b');
const C = target('c');
const out = (reason: OutReason = 'service_down', until = 1e9): Finding => ({ factor: 0, reason, detail: 'x', until });
const less = (factor: number, until = 1e9): Finding => ({ factor, reason: 'queue_long', detail: '', until });

test('each source speaks for itself, the lowest factor counts, and what ran out does not', () => {
  const step = fc.record({
    source: fc.constantFrom(...SOURCES),
    factor: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
    until: fc.integer({ min: 1, max: 100 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 0, max: 100 }), (steps, now) => {
      const findings = new Findings();
      const known = new Map<Source, Finding>();
      for (const { source, factor, until } of steps) {
        const finding = factor === null ? null : less(factor, until);
        findings.set('a', source, finding);
        if (finding === null) known.delete(source);
        else known.set(source, finding);
      }
      const counting = [...known.values()].filter(({ until }) => until > now);
      assert.equal(findings.factor('a', now), Math.min(1, ...counting.map(({ factor }) => factor)));
      assert.equal(findings.factor('b', now), 1);
    }),
  );
});

test('changes are told of, also when something runs out', () => {
  const told: string[] = [];
  const findings = new Findings({
    onChange: ({ source, before, after }) => told.push(`${source} ${before?.factor ?? 1}→${after?.factor ?? 1}`),
  });
  findings.set('a', 'gpu', null);
  findings.set('a', 'gpu', out('overheated', 50));
  findings.set('a', 'metrics', less(0.5));
  findings.sweep(49);
  findings.sweep(50);
  assert.deepEqual(told, ['gpu 1→0', 'metrics 1→0.5', 'gpu 0→1']);
  assert.deepEqual(
    [...findings.all(60)].map(({ source }) => source),
    ['metrics'],
  );
});

test('what is found unfit is left out with its reason, and comes back', () => {
  for (const reason of OUT_REASONS) {
    const made = rig();
    made.board.findings.set('a', 'service', out(reason, 100));
    const plan = made.decide([A, B], 0, { rank: 'given' });
    assert.deepEqual([ids(plan), plan.insteadOf], ['b', reason]);
    assert.deepEqual(
      plan.excluded.map(({ scored, why }) => `${scored.target.id} ${why}`),
      [`a ${reason}`],
    );
    assert.ok(LEFT_OUT.includes(reason));
    assert.equal(ids(made.decide([A, B], 101, { rank: 'given' })), 'a b');
  }
});

test('a target that gets less is no target that is out, and a good probe makes no bad answers good', () => {
  const made = rig();
  made.board.findings.set('a', 'gpu', { ...out('overheated'), factor: 0.1 });
  assert.equal(ids(made.decide([A], 0)), 'a');
  assert.equal(made.board.healthOf('a', 0), 0.1);
  for (let each = 0; each < 6; each += 1) made.fail(B, 0);
  made.board.findings.set('b', 'service', null);
  const { excluded } = made.decide([B, C], 2);
  assert.deepEqual(
    excluded.map(({ why }) => why),
    ['circuit_breaker_open'],
  );
  assert.ok(made.board.healthOf('b', 2) < 0.5);
});

test('no breaker sends a request to look at what is known to be out', () => {
  const made = rig();
  for (let each = 0; each < 6; each += 1) made.fail(A, 0);
  made.board.findings.set('a', 'network', out('network_unreachable'));
  const plan = made.decide([A, B], 60_000);
  assert.deepEqual([ids(plan), plan.choice], ['b', 'only_one']);
  assert.equal(plan.excluded[0]?.why, 'network_unreachable');
});

test('when nobody else is left it serves all the same, after all others, or nobody does', () => {
  const made = rig();
  made.board.findings.set('a', 'network', out('network_unreachable'));
  assert.equal(ids(made.decide([A], 0, { lastResort: 'nobody' })), '');
  assert.equal(ids(made.decide([A], 0, { lastResort: 'late' })), '');
  const plan = made.decide([A], 0, { lastResort: 'anybody' });
  assert.deepEqual([ids(plan), plan.choice], ['a', 'last_resort']);
  for (let each = 0; each < 6; each += 1) made.fail(B, 0);
  assert.equal(ids(made.decide([A, B], 1, { lastResort: 'anybody' })), 'b a');
});

function worker(probes: () => boolean) {
  const board = new Board();
  return { board, peers: new Peers({ board, breakers: new Breakers(), keepMs: 5000, probes }) };
}

test('one looks for all: the others hear what counts, until it runs out or the next one says otherwise', () => {
  const leads = { one: true, two: false };
  const one = worker(() => leads.one);
  const two = worker(() => leads.two);
  const three = worker(() => false);
  one.board.findings.set('m@a 10.0.0.1:80', 'service', out('service_down', 10_000));
  const word = one.peers.say(4000);
  assert.deepEqual(word.probes?.found, [['m@a 10.0.0.1:80', 'service', 0, 'service_down', 'x', 6000]]);
  // Every process has a clock of its own.
  for (const each of [two, three]) each.peers.hear([{ peer: 'one', word }], 100_000);
  assert.equal(two.board.findings.out('m@a 10.0.0.1:80', 105_999), 'service_down');
  // It died: its last word still lies there, and says nothing new.
  for (let now = 100_500; now < 105_000; now += 500) three.peers.hear([{ peer: 'one', word }], now);
  assert.equal(three.board.findings.out('m@a 10.0.0.1:80', 105_999), 'service_down');
  assert.equal(three.board.findings.out('m@a 10.0.0.1:80', 106_000), null);
  assert.equal(three.peers.say(105_000).probes, undefined, 'hearsay is not passed on');
  leads.two = true;
  two.board.findings.set('m@a 10.0.0.1:80', 'service', null);
  three.peers.hear(
    [
      { peer: 'one', word },
      { peer: 'two', word: two.peers.say(105_100) },
    ],
    105_100,
  );
  assert.equal(three.board.findings.out('m@a 10.0.0.1:80', 105_100), null);
});

test('words of another version are passed over', () => {
  const one = worker(() => false);
  const found = [
    ['a', 'weather', 0, 'service_down', '', 1000],
    ['a', 'gpu', 0, 'rain', '', 1000],
    ['a', 'gpu', 0.5, 'throttled', '', 1000],
  ] as const;
  one.peers.hear([{ peer: 'x', word: { running: [], open: [], probes: { turn: 1, found } } }], 0);
  assert.deepEqual(
    [...one.board.findings.all(0)].map(({ finding }) => finding.reason),
    ['throttled'],
  );
});
