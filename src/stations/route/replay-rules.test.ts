import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeaderList } from '../../core/http.ts';
import type { RuleContext } from './match-inputs.ts';
import { ReplayRules } from './replay-rules.ts';
import { config, context, route } from './route-kit.test.ts';

/** Whether it may be replayed, and what was said of faults. */
function asked(rule: string, replay: string | null, headers: Readonly<Record<string, string>> = {}) {
  const said: string[] = [];
  const note = (what: string): void => void said.push(what);
  const base = config([], [route('r', { replay })]);
  const rules = new ReplayRules({
    config: { ...base, retry: { ...base.retry, replay: rule } },
    metrics: { anomaly: note },
    log: { error: note },
  });
  const made = context(base);
  const ctx: RuleContext = { ...made, head: { ...made.head, headers: new HeaderList(Object.entries(headers)) } };
  return [rules.allows({ replay }, ctx, note), ...said];
}

test("a route's own rule goes before that of all", () => {
  assert.deepEqual(asked('always', null), [true]);
  assert.deepEqual(asked('never', null), [false]);
  assert.deepEqual(asked('always', 'never'), [false]);
  assert.deepEqual(asked('never', 'always'), [true]);
});

test('an expression decides by the type of the request', () => {
  const rule = "request.type != 'agent'";
  assert.deepEqual(asked(rule, null, { 'x-request-type': 'agent' }), [false]);
  assert.deepEqual(asked(rule, null, { 'x-request-type': 'report' }), [true]);
  assert.deepEqual(asked('always', rule, { 'x-request-type': 'agent' }), [false]);
});

test('a rule that fails, or cannot be used, forbids', () => {
  assert.deepEqual(asked("headers['x-a'] == 'b'", null), [false, 'route_rule_failed', 'replay: no_such_key']);
  assert.deepEqual(asked('nonsense(', null), [false, 'route_rule_unusable', 'replay rule cannot be used']);
});
