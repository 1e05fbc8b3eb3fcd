import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Classified, Classifier } from '../../core/classifier.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { RouteScore } from '../../core/score-policy.ts';
import { askedText, qualityOf } from './classify.ts';
import { type Ask, bench, candidate, config, context, decide, deployment, model, route } from './route-kit.test.ts';

const SCORE: RouteScore = {
  weights: { cost: 0, latency: 0, quality: 1 },
  load: 0,
  costCeiling: null,
  latencyMs: null,
  spread: { kind: 'near', near: 0 },
  expression: null,
  rules: [],
};

/** Texts are of the class that is their first word; "unsure" has no margin. */
const TEXT: Classifier['text'] = {
  classify: (text) => ({ class: text.split(' ')[0] ?? '', margin: text.includes('unsure') ? 0 : 0.5 }),
  quality: new Map([
    ['small', new Map([['math', 0.1]])],
    ['large', new Map([['math', 0.9]])],
  ]),
};

function classifier(changes: Partial<Classifier> = {}): Classifier {
  return {
    name: 'work',
    trustsHeader: true,
    rules: [
      { when: 'request.has_tools', class: 'agent' },
      { when: "claims.team == 'x'", class: 'chat' },
    ],
    text: TEXT,
    minMargin: 0.1,
    fallback: 'general',
    classes: new Set(['agent', 'math', 'chat', 'general']),
    ...changes,
  };
}

function priced(name: string, prompt: number, quality: number, qualityFor: Record<string, number> = {}) {
  const made = deployment(name, 'b');
  const price = { ...made.price, promptPerMtok: prompt as typeof made.price.promptPerMtok };
  return model(name, 'b', {
    deployments: [
      { ...made, price, profile: { ...made.profile, quality, qualityFor: new Map(Object.entries(qualityFor)) } },
    ],
  });
}

function snapshotOf(of: Classifier | null, scoreFor: ReadonlyMap<string, RouteScore> = new Map()) {
  return config(
    [priced('small', 1_000_000, 0.6), priced('large', 9_000_000, 0.5, { chat: 0.2 })],
    [route('r', { candidates: [candidate('small'), candidate('large')], score: SCORE, classifier: of, scoreFor })],
    { classifiers: new Map(of === null ? [] : [[of.name, of]]) },
  );
}

const said = (text: string): Ask => ({
  texts: [
    { param: 'messages[0].content', role: 'system', text: 'chat only' },
    { param: 'messages[1].content', role: 'user', text },
  ],
});

const TOOLS = { json: { messages: [], tools: [{}] } };
const TEAM = { claims: { team: 'x' } };

test('the header first, then rules in order, then the text, then the default', () => {
  const snapshot = snapshotOf(classifier());
  const of = (ask: Ask): Classified | null => decide(bench(), snapshot, ask).classified;
  const header = (value: string): Ask => ({ headers: [['x-request-class', value]] });
  assert.deepEqual(of({ ...said('math x'), ...header('chat'), ...TOOLS }), {
    classifier: 'work',
    class: 'chat',
    by: 'header',
    margin: null,
  });
  assert.equal(of({ ...said('math x'), ...TOOLS, ...TEAM })?.class, 'agent');
  assert.deepEqual(of({ ...said('math x'), ...TEAM }), { classifier: 'work', class: 'chat', by: 'rule', margin: null });
  assert.deepEqual(of({ ...said('math x'), claims: { team: 'y' } }), {
    classifier: 'work',
    class: 'math',
    by: 'text',
    margin: 0.5,
  });
  assert.deepEqual(of({ ...said('math unsure'), claims: { team: 'y' } }), {
    classifier: 'work',
    class: 'general',
    by: 'default',
    margin: 0,
  });
});

test('a header that names no class is nobody’s word, nor is one that is not trusted', () => {
  const headers = { headers: [['x-request-class', 'gold']] as const, claims: { team: 'y' } };
  assert.equal(decide(bench(), snapshotOf(classifier()), { ...said('math x'), ...headers }).classified?.by, 'text');
  const chat = { headers: [['x-request-class', 'chat']] as const, claims: { team: 'y' } };
  const strict = snapshotOf(classifier({ trustsHeader: false }));
  assert.equal(decide(bench(), strict, { ...said('math x'), ...chat }).classified?.class, 'math');
});

test('without a classifier nothing is looked at', () => {
  const decision = decide(bench(), snapshotOf(null), said('math x'));
  assert.equal(decision.classified, null);
  assert.match(decision.ids, /^small@b/);
});

test('quality by class: as configured, as learned, else in general', () => {
  const snapshot = snapshotOf(classifier({ rules: [] }));
  assert.match(decide(bench(), snapshot, said('math x')).ids, /^large@b/);
  assert.match(decide(bench(), snapshot, said('chat x')).ids, /^small@b/);
  const { profile } = deployment('large', 'b');
  const large = {
    model: 'large',
    profile: {
      ...profile,
      quality: 0.5,
      qualityFor: new Map([
        ['chat', 0.2],
        ['batch', 0.3],
      ]),
    },
  };
  const of = (type: string, name: string | null): number =>
    qualityOf(large, type, name === null ? null : { class: name, classifier: classifier() });
  assert.deepEqual(
    [of('chat', null), of('x', null), of('x', 'math'), of('batch', 'chat'), of('batch', 'agent')],
    [0.2, 0.5, 0.9, 0.2, 0.3],
  );
});

test('a class may have weights of its own', () => {
  const cheap = { ...SCORE, weights: { cost: 1, latency: 0, quality: 0 } };
  const snapshot = snapshotOf(classifier({ rules: [] }), new Map([['math', cheap]]));
  assert.match(decide(bench(), snapshot, said('math x')).ids, /^small@b/);
});

test('a rule that fails is skipped, counted and named; the class is in the words', () => {
  const made = bench();
  const { note } = decide(made, snapshotOf(classifier()), said('math x'));
  assert.deepEqual(made.anomalies, ['route_rule_failed']);
  assert.match(note.reason ?? '', /rule failed: work\.rules\[1\]/);
  assert.match(note.reason ?? '', /class math of work by text, margin 0\.500/);
});

test('each request is counted once with its time, previews never', () => {
  const counted: [Classified, number][] = [];
  let now = 0;
  const metrics = {
    anomaly: () => {},
    leftOut: () => {},
    classified: (classified: Classified, ms: number) => counted.push([classified, ms]),
  } as unknown as Metrics;
  // Each reading of the clock is a millisecond later.
  const { station } = bench({ metrics, clock: { now: () => (now += 1), time: () => 0 } });
  const ctx = context(snapshotOf(classifier({ rules: [] })), said('math x'));
  station.preview(ctx);
  assert.equal(counted.length, 0);
  void station.run?.(ctx);
  assert.deepEqual(counted, [[{ classifier: 'work', class: 'math', by: 'text', margin: 0.5 }, 1]]);
});

test('what counts is what the user says last, with all its parts', () => {
  const part = (param: string, role: string, text: string) => ({ param, role, text });
  assert.equal(askedText([]), '');
  assert.equal(askedText([part('prompt', '', 'a'), part('prompt', '', 'b')]), 'b');
  const talk = [
    part('messages[0].content', 'user', 'first'),
    part('messages[1].content', 'assistant', 'well'),
    part('messages[2].content[0].text', 'user', 'second'),
    part('messages[2].content[1].text', 'user', 'part'),
    part('messages[3].content', 'tool', 'result'),
  ];
  assert.equal(askedText(talk), 'second\npart');
});
