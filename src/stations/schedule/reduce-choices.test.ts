import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ChatRequest } from '../../core/chat-request.ts';
import { parseJson } from '../../lib/json-span/parse-json.ts';
import { reduceChoices } from './reduce-choices.ts';

function requestOf(text: string): ChatRequest {
  const raw = Buffer.from(text);
  const { value, members } = parseJson(raw, { maxDepth: 32, refuseDuplicates: true });
  return { raw, json: value, spans: members, n: 99 } as unknown as ChatRequest;
}

test('only the digits change, and every span holds', () => {
  const counts = fc.record({
    n: fc.option(fc.integer({ min: 1, max: 128 }), { nil: undefined }),
    best_of: fc.option(fc.integer({ min: 1, max: 128 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 127 }), fc.string({ unit: 'grapheme' }), (given, to, user) => {
      const before = { user, ...given, stream: true };
      const request = requestOf(JSON.stringify(before, null, 1));
      const copy = Buffer.from(request.raw);
      const reduced = reduceChoices(request, to);
      const cut = (value: number | undefined) => (value === undefined ? {} : Math.min(value, to));
      const expected = JSON.parse(
        JSON.stringify({ user, n: cut(given.n), best_of: cut(given.best_of), stream: true }, (_, value: unknown) =>
          typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? undefined : value,
        ),
      ) as object;
      assert.deepEqual(JSON.parse(reduced.raw.toString()), expected);
      assert.deepEqual({ ...reduced.json }, expected);
      assert.equal(reduced.n, to);
      assert.equal(reduced.raw.length, request.raw.length);
      for (const [name, { start, end }] of reduced.spans)
        assert.deepEqual(
          JSON.parse(reduced.raw.toString('utf8', start, end)),
          (expected as Record<string, unknown>)[name],
        );
      assert.deepEqual(request.raw, copy, "the client's bytes stay");
    }),
  );
});

test('numbers in other spellings', () => {
  assert.equal(reduceChoices(requestOf('{"n":1e2}'), 99).raw.toString(), '{"n":99 }');
  assert.equal(reduceChoices(requestOf('{"n":2.0,"best_of":1}'), 1).raw.toString(), '{"n":1  ,"best_of":1}');
});
