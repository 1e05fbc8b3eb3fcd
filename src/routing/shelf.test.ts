import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Warm } from '../core/warm.ts';
import type { Began } from './board.ts';
import { ASK, ids, rig, target } from './routing-kit.test.ts';
import { Shelf } from './shelf.ts';
import type { Target } from './target.ts';
import type { Warmth } from './warm-keys.ts';

const MODEL: Warm = { keys: [7], tokensAKey: 0, mustLoad: true };
const WARMTH: Warmth = { warm: () => MODEL, home: () => 7 };
const KEEP_MS = 60_000;

const on = (model: string, server: string, most: number | null = null): Target =>
  target(`${model}@${server}`, { group: model, domain: server, shelf: { server, model, most, keepMs: KEEP_MS } });

/** A board with its servers, and what happens to models there. */
function bench(most: number | null = null, servers: readonly string[] = ['a', 'b', 'c']) {
  const made = rig();
  const targetsOf = (model: string): readonly Target[] => servers.map((server) => on(model, server, most));
  const begin = (to: Target, now: number): Began =>
    made.reporter.begin(to, { ...ASK, warm: MODEL }, now, now + 600_000);
  return {
    ...made,
    targetsOf,
    begin,
    plan: (model: string, now: number) => made.decide(targetsOf(model), now, { warmth: WARMTH }),
    serve: (to: Target, now: number, tookMs = 200): Began => {
      const began = begin(to, now);
      made.reporter.firstToken(began, now + tookMs);
      made.reporter.end(began, { kind: 'served', tokens: 10 }, now + tookMs);
      return began;
    },
  };
}

test('a model goes where it is loaded, and is forgotten when nobody asked for it', () => {
  const { plan, serve } = bench();
  assert.equal(plan('m', 0).affinity, 'miss');
  const first = serve(on('m', 'b'), 0);
  assert.equal(first.lease.isCold, true);
  const next = plan('m', 1000);
  assert.deepEqual([next.affinity, next.order[0]?.target.domain, next.choice], ['hit', 'b', 'warm']);
  assert.equal(serve(on('m', 'b'), 1000).lease.isCold, false);
  assert.equal(plan('m', 1200 + KEEP_MS - 1).affinity, 'hit');
  assert.equal(plan('m', 1200 + KEEP_MS).affinity, 'miss');
});

test('while it is being loaded, others wait at the same place, and all of them are cold', () => {
  const { plan, begin, reporter } = bench();
  const first = begin(on('m', 'a'), 0);
  assert.equal(plan('m', 1).order[0]?.target.domain, 'a');
  const second = begin(on('m', 'a'), 1);
  assert.deepEqual([first.lease.isCold, second.lease.isCold], [true, true]);
  assert.deepEqual([first.lease.kind, first.lease.asked], ['chat.cold', 'chat']);
  reporter.firstToken(first, 5000);
  assert.equal(begin(on('m', 'a'), 5001).lease.isCold, false);
});

test('a load that fails leaves nothing; one of two that wait leaves the other', () => {
  const { plan, begin, reporter } = bench();
  const [one, other] = [begin(on('m', 'a'), 0), begin(on('m', 'a'), 0)];
  reporter.end(one, { kind: 'neutral' }, 10);
  assert.equal(plan('m', 11).affinity, 'hit');
  reporter.end(other, { kind: 'neutral' }, 20);
  assert.equal(plan('m', 21).affinity, 'miss');
});

test('a server that is full of models lets go of the one used longest ago', () => {
  const { plan, serve } = bench(2);
  serve(on('one', 'a', 2), 0);
  serve(on('two', 'a', 2), 1000);
  serve(on('one', 'a', 2), 2000);
  serve(on('three', 'a', 2), 3000);
  assert.deepEqual(
    ['one', 'two', 'three'].map((model) => plan(model, 4000).affinity),
    ['hit', 'miss', 'hit'],
  );
});

test('a server that runs too much of other models is passed over', () => {
  const { plan, serve, begin } = bench();
  serve(on('m', 'a'), 0);
  for (let at = 0; at < 6; at += 1) begin(on('other', 'a'), 1000 + at);
  const crowded = plan('m', 2000);
  assert.equal(crowded.affinity, 'gated');
  assert.notEqual(crowded.order[0]?.target.domain, 'a');
});

test('what a server itself says counts, but for what was asked for since its list was made', () => {
  const { plan, serve, board } = bench();
  const told = (server: string, reason: 'model_loaded' | 'model_unloaded') =>
    board.findings.set(`m@${server}`, 'models', { factor: 1, reason, detail: '', until: 100_000 });
  told('c', 'model_loaded');
  const plain = plan('m', 0);
  assert.deepEqual([plain.affinity, plain.order[0]?.target.domain, plain.order[0]?.health], ['hit', 'c', 1]);
  told('c', 'model_unloaded');
  assert.equal(plan('m', 0).affinity, 'miss');
  assert.equal(serve(on('m', 'c'), 20_000).lease.isCold, true);
  assert.equal(plan('m', 25_000).affinity, 'hit', 'loaded after the list was made');
  assert.equal(plan('m', 40_000).affinity, 'miss', 'unloaded again, as the list says');
});

test('loading makes no host look sick, and no breaker open', () => {
  const made = rig({ slowMs: 1000 });
  const targets = ['a', 'b'].map((server) => on('m', server));
  const serve = (to: Target, now: number, tookMs: number, warm: Warm): void => {
    const began = made.reporter.begin(to, { ...ASK, warm }, now, now + 600_000);
    made.reporter.firstToken(began, now + tookMs);
    made.reporter.end(began, { kind: 'served', tokens: 10 }, now + tookMs + 100);
  };
  const [a = assert.fail(), b = assert.fail()] = targets;
  for (let at = 0; at < 20; at += 1) serve(b, at * 100, 200, { ...MODEL, mustLoad: false });
  for (let at = 0; at < 20; at += 1) serve(a, at * 100_000, 30_000, MODEL);
  const plan = made.decide(targets, 2_000_000);
  assert.equal(plan.excluded.length, 0);
  assert.ok((plan.order.find(({ target: { domain } }) => domain === 'a')?.health ?? 0) > 0.9, ids(plan));
});

test('a shelf holds the last that were used, and counts what it is told', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9)), fc.integer({ min: 1, max: 6 }), (uses, most) => {
      const shelf = new Shelf();
      uses.forEach((model, now) => shelf.use(String(model), now, most));
      const last = [...new Set(uses.toReversed())].slice(0, most);
      assert.equal(shelf.size, last.length);
      for (const model of last) assert.equal(shelf.usedAt(String(model)), uses.lastIndexOf(model));
    }),
  );
});
