import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../core/json.ts';
import { UsageTally } from './usage-tally.ts';

function tallied(...told: readonly Json[]) {
  const tally = new UsageTally();
  for (const usage of told) tally.add(usage);
  return { usage: tally.usage(), flag: tally.flag };
}

test('what is read from and written to a cache is part of the prompt', () => {
  const start = {
    input_tokens: 10,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 50,
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
    output_tokens: 1,
  };
  assert.deepEqual(tallied(start, { output_tokens: 7 }), {
    usage: {
      prompt: 160,
      cached: 100,
      cacheWrite: 50,
      cacheWriteLong: 30,
      completion: 7,
      reasoning: 0,
      source: 'upstream',
    },
    flag: null,
  });
});

test('without a cache there are no parts for it', () => {
  const plain = { prompt: 10, cached: 0, completion: 7, reasoning: 0, source: 'upstream' };
  assert.deepEqual(tallied({ input_tokens: 10, output_tokens: 7 }).usage, plain);
  const zeros = { cache_creation_input_tokens: 0, cache_creation: { ephemeral_1h_input_tokens: 0 } };
  assert.deepEqual(tallied({ input_tokens: 10, output_tokens: 7, ...zeros }).usage, plain);
  assert.deepEqual(tallied({ input_tokens: 10, output_tokens: 7, cache_creation: null }).usage, plain);
});

test('more long writes than writes are no more than the writes', () => {
  const odd = { cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 9 } };
  const { usage } = tallied({ input_tokens: 10, output_tokens: 7, ...odd });
  assert.deepEqual([usage?.prompt, usage?.cacheWrite, usage?.cacheWriteLong], [15, 5, 5]);
});

test('odd counts of a cache are flagged and nothing is taken', () => {
  for (const odd of [-1, 1.5, '3', {}]) {
    const told = { input_tokens: 10, output_tokens: 7 };
    assert.deepEqual(tallied({ ...told, cache_creation_input_tokens: odd }), { usage: null, flag: 'odd_details' });
    const split = { cache_creation: { ephemeral_1h_input_tokens: odd } };
    assert.deepEqual(tallied({ ...told, ...split }), { usage: null, flag: 'odd_details' });
  }
});
