import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../core/json.ts';
import { readUsage } from './read-usage.ts';

const usage = (prompt: number, cached: number, completion: number, reasoning: number) => ({
  usage: { prompt, cached, completion, reasoning, source: 'upstream' },
  flag: null,
});

test('cached tokens are part of the prompt (USE-05)', () => {
  const json = {
    prompt_tokens: 2006,
    completion_tokens: 300,
    total_tokens: 2306,
    prompt_tokens_details: { cached_tokens: 1920 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  assert.deepEqual(readUsage(json), usage(2006, 1920, 300, 0));
  assert.deepEqual(
    readUsage({ prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 4 }),
    usage(10, 4, 1, 0),
  );
});

test('the other names are understood (USE-10)', () => {
  const json = {
    input_tokens: 150,
    output_tokens: 8000,
    total_tokens: 8150,
    input_tokens_details: { cached_tokens: 5 },
    output_tokens_details: { reasoning_tokens: 7 },
  };
  assert.deepEqual(readUsage(json), usage(150, 5, 8000, 7));
});

test('no usage is none; embeddings have no completion', () => {
  assert.deepEqual(readUsage(undefined), { usage: null, flag: null });
  assert.deepEqual(readUsage(null), { usage: null, flag: null });
  assert.deepEqual(readUsage({ prompt_tokens: 2, total_tokens: 2 }), usage(2, 0, 0, 0));
});

test('null details are zero; null and missing totals do not matter', () => {
  const json = {
    prompt_tokens: 5,
    completion_tokens: 2,
    total_tokens: null,
    prompt_tokens_details: { cached_tokens: null },
    completion_tokens_details: null,
  };
  assert.deepEqual(readUsage(json), usage(5, 0, 2, 0));
});

test('reasoning counted beside the completion is added to it where the total says so', () => {
  assert.deepEqual(
    readUsage({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 35,
      completion_tokens_details: { reasoning_tokens: 20 },
    }),
    usage(10, 0, 25, 20),
  );
});

test('odd counts are flagged and never taken (USE-07)', () => {
  const odd: [Json, string][] = [
    [5, 'not_an_object'],
    ['x', 'not_an_object'],
    [[], 'not_an_object'],
    [{}, 'odd_prompt'],
    [{ prompt_tokens: null, completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: -1, completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: '5', completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: 1.5, completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: Number.NaN, completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: Number.POSITIVE_INFINITY, completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: 1e300, completion_tokens: 5 }, 'odd_prompt'],
    [{ prompt_tokens: 5, completion_tokens: null }, 'odd_completion'],
    [{ prompt_tokens: 5, completion_tokens: -5 }, 'odd_completion'],
    [{ prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: -1 } }, 'odd_details'],
    [{ prompt_tokens: 5, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 'x' } }, 'odd_details'],
    [{ prompt_tokens: 5, completion_tokens: 2, total_tokens: 8 }, 'inconsistent'],
    [{ prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 6 } }, 'inconsistent'],
    [{ prompt_tokens: 5, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 3 } }, 'inconsistent'],
  ];
  for (const [json, flag] of odd) assert.deepEqual(readUsage(json), { usage: null, flag }, JSON.stringify(json));
});

test('audio, images and cache writes are parts of their own, where they are told (USE-10)', () => {
  const json = {
    prompt_tokens: 1000,
    completion_tokens: 500,
    total_tokens: 1500,
    prompt_tokens_details: {
      cached_tokens: 100,
      cached_tokens_details: { text_tokens: 60, audio_tokens: 40 },
      audio_tokens: 200,
      text_tokens: 750,
      image_tokens: 50,
      cache_write_tokens: 300,
    },
    completion_tokens_details: { reasoning_tokens: 10, audio_tokens: 400, accepted_prediction_tokens: 3 },
  };
  assert.deepEqual(readUsage(json), {
    usage: {
      ...usage(1000, 100, 500, 10).usage,
      cacheWrite: 300,
      audioPrompt: 160,
      imagePrompt: 50,
      audioCompletion: 400,
    },
    flag: null,
  });
  const image = {
    input_tokens: 150,
    output_tokens: 8000,
    total_tokens: 8150,
    input_tokens_details: { text_tokens: 150, image_tokens: 0 },
    output_tokens_details: { image_tokens: 8000, text_tokens: 0 },
  };
  assert.deepEqual(readUsage(image).usage, { ...usage(150, 0, 8000, 0).usage, imageCompletion: 8000 });
  const other = { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details: { cache_creation_tokens: 5 } };
  assert.deepEqual(readUsage(other).usage, { ...usage(9, 0, 1, 0).usage, cacheWrite: 5 });
});

test('odd parts are flagged like odd counts', () => {
  const flagOf = (prompt: Json, completion: Json = null) =>
    readUsage({
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: prompt,
      completion_tokens_details: completion,
    }).flag;
  assert.equal(flagOf({ audio_tokens: null, image_tokens: null, cache_write_tokens: null }), null);
  for (const odd of [-1, 1.5, '3', true, {}, []]) {
    assert.equal(flagOf({ audio_tokens: odd }), 'odd_details');
    assert.equal(flagOf({ image_tokens: odd }), 'odd_details');
    assert.equal(flagOf({ cache_write_tokens: odd }), 'odd_details');
    assert.equal(
      flagOf({ audio_tokens: 5, cached_tokens: 5, cached_tokens_details: { audio_tokens: odd } }),
      'odd_details',
    );
    assert.equal(flagOf(null, { audio_tokens: odd }), 'odd_details');
    assert.equal(flagOf(null, { image_tokens: odd }), 'odd_details');
  }
  assert.equal(flagOf({ audio_tokens: 5, cached_tokens_details: { audio_tokens: 6 } }), 'odd_details');
  assert.equal(flagOf({ audio_tokens: 11 }), 'inconsistent');
  assert.equal(flagOf({ cache_write_tokens: 11 }), 'inconsistent');
  assert.equal(flagOf(null, { image_tokens: 6 }), 'inconsistent');
});
