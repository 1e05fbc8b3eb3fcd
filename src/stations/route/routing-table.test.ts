import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { bench, candidate, config, decide, model, route } from './route-kit.test.ts';
import type { Ask } from './route-kit.test.ts';

const RULES = [
  "tenant.tier == 'gold'",
  "tenant.name == 'globex' && request.stream",
  'claims.level == 2.0',
  "headers['x-a'] == '1'",
  "request.last_message.contains('code')",
  "request.region == 'eu' || request.prompt_tokens > 100",
  "'lab' in claims.groups",
  'has(claims.extra) && claims.extra == claims.level',
];

const snapshot = config(
  [model('x'), model('gray', 'b', { stage: 'gray' })],
  RULES.map((match, at) => route(`r${at}`, { models: ['*'], match, candidates: at % 2 === 0 ? [candidate('x')] : [] })),
);

const text = (value: string) => [{ param: 'messages[0].content', role: 'user', text: value }];
const asks: fc.Arbitrary<Ask> = fc.record({
  model: fc.constantFrom('auto', 'x', 'gray'),
  tier: fc.constantFrom('gold', 'standard'),
  tenant: fc.constantFrom('acme', 'globex'),
  stream: fc.boolean(),
  promptTokens: fc.constantFrom(1, 101),
  scopes: fc.constantFrom([], ['canary']),
  texts: fc.constantFrom(text('write code'), text('hi')),
  headers: fc.subarray([
    ['x-a', '1'],
    ['x-a', '2'],
    ['x-request-region', 'eu'],
    ['x-b', '1'],
  ] as const),
  claims: fc.constantFrom<Readonly<Record<string, unknown>>[]>(
    {},
    { level: 2 },
    { level: '2' },
    { groups: ['lab'] },
    { groups: 'lab' },
    { level: 3, extra: 3 },
    { level: 3, extra: '3' },
  ),
});

function outcome(made: ReturnType<typeof bench>, ask: Ask): string {
  try {
    const { route: taken, ids } = decide(made, snapshot, ask);
    return `${taken.id} ${ids}`;
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

test('a remembered answer is the one that a fresh look would give', () => {
  const shared = bench();
  let hits = 0;
  fc.assert(
    fc.property(asks, (ask) => {
      assert.equal(outcome(shared, ask), outcome(bench(), ask));
      try {
        if (decide(shared, snapshot, ask).cached) hits += 1;
      } catch {
        hits += 0;
      }
    }),
    { numRuns: 1500 },
  );
  assert.ok(hits > 500, String(hits));
});

const ask = (value: string, extra = ''): Ask => ({
  headers: [
    ['x-a', value],
    ['x-request-id', extra],
  ],
  texts: text(extra),
});

test('what no rule reads makes no other answer; what one reads does', () => {
  const rules = config(
    [model('x')],
    [
      route('r', { match: "headers['x-a'] == '1'", candidates: [candidate('x')] }),
      route('s', { candidates: [candidate('x')] }),
    ],
  );
  const made = bench();
  assert.equal(decide(made, rules, ask('1')).cached, false);
  assert.equal(decide(made, rules, ask('1', 'other')).cached, true);
  const second = decide(made, rules, ask('2'));
  assert.equal(second.cached, false);
  assert.equal(second.route.id, 's');
  assert.equal(decide(made, rules, { ...ask('1'), tenant: 'globex' }).cached, false);
});

test('what a claim holds and what type it has are different answers', () => {
  const rules = config(
    [model('x'), model('y')],
    [
      route('r', { match: "claims.a == '1'", candidates: [candidate('y')] }),
      route('s', { candidates: [candidate('x')] }),
    ],
  );
  const made = bench();
  assert.equal(decide(made, rules, { claims: { a: '1' } }).route.id, 'r');
  assert.equal(decide(made, rules, { claims: { a: 1 } }).route.id, 's');
  assert.equal(decide(made, rules, {}).route.id, 's');
  assert.equal(decide(made, rules, { claims: { a: '1' } }).route.id, 'r');
});

test('an answer is remembered for 10 s and for its configuration only', () => {
  const made = bench();
  const rules = config([model('x')], [route('r', { match: 'true', candidates: [candidate('x')] })]);
  assert.equal(decide(made, rules).cached, false);
  made.advance(9999);
  assert.equal(decide(made, rules).cached, true);
  made.advance(1);
  assert.equal(decide(made, rules).cached, false);
  assert.equal(decide(made, { ...rules, generation: 2 }).cached, false);
  const gone = { ...rules, generation: 3, routes: [] };
  assert.throws(() => decide(made, gone), { code: 'no_candidate' });
});

test('no more answers are remembered than allowed', () => {
  const made = bench({ cache: { entries: 2, ttlMs: 1000 } });
  const rules = config([model('x')], [route('r', { models: ['*'], match: 'true', candidates: [candidate('x')] })]);
  for (const name of ['a', 'b', 'c']) assert.equal(decide(made, rules, { model: name }).cached, false);
  assert.equal(decide(made, rules, { model: 'a' }).cached, false);
  assert.equal(decide(made, rules, { model: 'c' }).cached, true);
});

test('rules of less than the least size are evaluated each time', () => {
  const of = (fromSize: number) => bench({ cache: { entries: 10, ttlMs: 10_000, fromSize } });
  const one = config([model('x')], [route('r', { match: "request.region == ''", candidates: [candidate('x')] })]);
  const none = config([model('x')], [route('r', { candidates: [candidate('x')] })]);
  const isRemembered = (made: ReturnType<typeof bench>, rules: typeof one): boolean => {
    decide(made, rules);
    return decide(made, rules).cached;
  };
  assert.deepEqual(
    [of(3), of(4)].map((made) => isRemembered(made, one)),
    [true, false],
  );
  assert.equal(isRemembered(of(1), none), false, 'without a rule there is nothing to remember');
});
