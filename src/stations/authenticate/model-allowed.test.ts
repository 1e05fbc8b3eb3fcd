import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { globMatches, modelAllowed } from './model-allowed.ts';
import { cpuTimeMs } from '../../../test/support/cpu-time.ts';

const CASES: readonly (readonly [pattern: string, name: string, matches: boolean])[] = [
  ['gpt-4.1*', 'gpt-4.1-mini', true],
  ['gpt-4.1*', 'gpt-4x1-mini', false],
  ['gpt-4.1*', 'my-gpt-4.1-mini', false],
  ['*4*mini*', 'gpt-4.1-mini', true],
  ['*', '', true],
  ['*', 'anything', true],
  ['**', 'x', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*ab*b', 'ab', false],
  ['a*b*c', 'a-c-b', false],
  ['GPT*', 'gpt-4', false],
  ['gpt', 'gpt-4', false],
  ['', '', true],
  ['', 'x', false],
  ['g?t', 'gpt', false],
  ['[a-z]*', 'a', false],
];

for (const [pattern, name, matches] of CASES) {
  test(`'${pattern}' ${matches ? 'matches' : 'does not match'} '${name}'`, () => {
    assert.equal(globMatches(pattern, name), matches);
  });
}

test('matches as the anchored regular expression of the pattern does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 10 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 });
  fc.assert(
    fc.property(text, name, (pattern, model) => {
      const source = pattern
        .split('*')
        .map((piece) => piece.replaceAll('.', String.raw`\.`))
        .join('[^]*');
      assert.equal(globMatches(pattern, model), new RegExp(`^${source}$`).test(model));
    }),
    { numRuns: 2000 },
  );
});

test('a long pattern of stars costs no more than its length', () => {
  const started = cpuTimeMs();
  assert.equal(globMatches(`${'*a'.repeat(4000)}*b`, 'a'.repeat(250)), false);
  assert.ok(cpuTimeMs() - started < 200);
});

const config = { aliases: new Map([['team-fast', 'claude-haiku']]) };

test('an alias: its own name or its target must be granted, and not the other way round', () => {
  assert.equal(modelAllowed({ models: ['claude-sonnet*'] }, 'team-fast', config), false);
  assert.equal(modelAllowed({ models: ['team-fast'] }, 'team-fast', config), true);
  assert.equal(modelAllowed({ models: ['claude-*'] }, 'team-fast', config), true);
  assert.equal(modelAllowed({ models: ['team-fast'] }, 'claude-haiku', config), false);
});

test('no grant, no model; and no name without end', () => {
  assert.equal(modelAllowed({ models: [] }, 'gpt-test', config), false);
  assert.equal(modelAllowed({ models: ['*'] }, 'x'.repeat(257), config), false);
});
