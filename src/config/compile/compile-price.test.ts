import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-price-'));
after(() => fs.rmSync(dir, { recursive: true }));
const file = path.join(dir, 'tokenlat.yaml');

function load(price: unknown) {
  fs.writeFileSync(
    file,
    `version: 1
redis: {url: "redis://127.0.0.1"}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1/"}]}]
models: [{name: m, deployments: [{backend: b, price: ${JSON.stringify(price)}}]}]
`,
  );
  return loadConfig({ path: file, env: {}, generation: 1, dialects: ['openai'], checkMatch: () => null });
}

function priceOf(price: unknown) {
  const result = load(price);
  assert.ok(result.ok, JSON.stringify(result));
  return result.snapshot.models.get('m')?.deployments[0]?.price;
}

function problemOf(price: unknown): string {
  const result = load(price);
  assert.ok(!result.ok, 'should have been refused');
  const [first] = result.problems;
  return `${first?.path}: ${first?.message}`;
}

test('one price', () => {
  assert.deepEqual(priceOf({}), { currency: 'USD', promptPerMtok: 0, cachedPerMtok: 0, completionPerMtok: 0 });
  assert.deepEqual(
    priceOf({
      currency: 'EUR',
      prompt_per_mtok: 2,
      completion_per_mtok: 8,
      cache_write_per_mtok: 2.5,
      cache_write_long_per_mtok: 4,
      reasoning_per_mtok: 9,
      audio_prompt_per_mtok: 40,
      audio_completion_per_mtok: 80,
      image_prompt_per_mtok: 5,
      image_completion_per_mtok: 40,
    }),
    {
      currency: 'EUR',
      promptPerMtok: 2_000_000,
      cachedPerMtok: 2_000_000,
      completionPerMtok: 8_000_000,
      cacheWritePerMtok: 2_500_000,
      cacheWriteLongPerMtok: 4_000_000,
      reasoningPerMtok: 9_000_000,
      audioPromptPerMtok: 40_000_000,
      audioCompletionPerMtok: 80_000_000,
      imagePromptPerMtok: 5_000_000,
      imageCompletionPerMtok: 40_000_000,
    },
  );
});

test('a tier keeps what it does not say, and defaults follow the tier', () => {
  const above = [
    { tokens: 1000, prompt_per_mtok: 6 },
    { tokens: 2000, completion_per_mtok: 30 },
  ];
  const price = priceOf({
    prompt_per_mtok: 3,
    completion_per_mtok: 15,
    cache_write_per_mtok: 4,
    tiers: { mode: 'whole', above },
  });
  assert.deepEqual(price?.tiers, {
    mode: 'whole',
    above: [
      {
        tokens: 1000,
        promptPerMtok: 6_000_000,
        cachedPerMtok: 6_000_000,
        completionPerMtok: 15_000_000,
        cacheWritePerMtok: 4_000_000,
      },
      {
        tokens: 2000,
        promptPerMtok: 3_000_000,
        cachedPerMtok: 3_000_000,
        completionPerMtok: 30_000_000,
        cacheWritePerMtok: 4_000_000,
      },
    ],
  });
});

test('versions in order of time, with any offset', () => {
  const price = priceOf([
    { prompt_per_mtok: 1 },
    { valid_from: '2026-02-01T00:00:00+02:00', prompt_per_mtok: 2 },
    { valid_from: '2026-03-01T00:00:00Z', prompt_per_mtok: 3 },
  ]);
  assert.equal(price?.promptPerMtok, 1_000_000);
  assert.deepEqual(
    price?.later?.map(({ validFrom, promptPerMtok }) => [validFrom, promptPerMtok]),
    [
      [Date.UTC(2026, 0, 31, 22), 2_000_000],
      [Date.UTC(2026, 2, 1), 3_000_000],
    ],
  );
  assert.equal(priceOf([{ valid_from: '2026-01-01T00:00:00Z', prompt_per_mtok: 5 }])?.promptPerMtok, 5_000_000);
});

const PLACE = 'models[0].deployments[0].price';
const refused: [string, unknown, RegExp][] = [
  ['an empty list', [], /needs at least one version/],
  ['no date', [{}, {}], /\[1\]: needs valid_from/],
  ['no time', [{}, { valid_from: '2026-01-01' }], /\[1\]\.valid_from: must be a date and time as in/],
  ['no such day', [{}, { valid_from: '2026-02-30T00:00:00Z' }], /\[1\]\.valid_from: must be a date and time/],
  [
    'the wrong order',
    [{ valid_from: '2026-03-01T00:00:00Z' }, { valid_from: '2026-02-01T00:00:00Z' }],
    /must be later/,
  ],
  ['the same moment', [{ valid_from: '2026-03-01T01:00:00+01:00' }, { valid_from: '2026-03-01T00:00:00Z' }], /later/],
  [
    'two currencies',
    [{}, { valid_from: '2026-03-01T00:00:00Z', currency: 'EUR' }],
    /\[1\]\.currency: must be the curr/,
  ],
  ['a negative price', { audio_prompt_per_mtok: -1 }, /audio_prompt_per_mtok: must be at least 0/],
  ['a negative price in a list', [{ cached_per_mtok: -1 }], /\[0\]\.cached_per_mtok: must be at least 0/],
  ['an unknown kind', { video_per_mtok: 1 }, /"video_per_mtok" is not known here/],
  ['tiers without a mode', { tiers: { above: [{ tokens: 1 }] } }, /tiers\.mode/],
  ['tiers without order', { tiers: { mode: 'whole', above: [{ tokens: 2 }, { tokens: 2 }] } }, /must ascend by tokens/],
  ['no tiers', { tiers: { mode: 'whole', above: [] } }, /needs at least one tier/],
  ['a text', 'cheap', /must be a map of keys or a list, not a text/],
];
for (const [name, price, message] of refused)
  test(`refused: ${name}`, () => {
    const problem = problemOf(price);
    assert.ok(problem.startsWith(PLACE), problem);
    assert.match(problem, message);
  });

test('cached tokens dearer than others are warned of, wherever they stand', () => {
  const warned = (price: unknown) => {
    const result = load(price);
    return result.ok ? result.warnings.map((warning) => warning.path) : ['refused'];
  };
  const dear = { prompt_per_mtok: 1, cached_per_mtok: 2 };
  assert.deepEqual(warned(dear), [`${PLACE}.cached_per_mtok`]);
  assert.deepEqual(warned([{}, { valid_from: '2026-01-01T00:00:00Z', ...dear }]), [`${PLACE}[1].cached_per_mtok`]);
  const above = [{ tokens: 9, prompt_per_mtok: 1 }];
  const tiered = { prompt_per_mtok: 4, cached_per_mtok: 2, tiers: { mode: 'excess', above } };
  assert.deepEqual(warned(tiered), [`${PLACE}.tiers.above[0]`]);
  assert.deepEqual(warned({ prompt_per_mtok: 2, cached_per_mtok: 2 }), []);
});
