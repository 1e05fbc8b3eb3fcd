import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { estimateTokens } from './estimate-tokens.ts';

const PROSE =
  "It was a bright cold day in April, and the clocks were striking thirteen. The morning after the storm the whole village came down to the harbour to see what the sea had left behind. There were planks and barrels, a broken mast, and a small brown dog that nobody claimed. The old fisherman said that he had never seen waves so high, not even in the winter of his father's death, and the children listened with open mouths while their mothers gathered the driftwood into baskets. Nobody spoke of the boats that had not come home. Later, when the tide had gone out, they walked along the beach and picked up the things that could still be used.";

/** Text, its tokens in o200k_base, and how far off the estimate may be. */
const COUNTED: readonly (readonly [string, string, number, number])[] = [
  ['prose', PROSE, 134, 0.15],
  ['licence', readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8').slice(0, 11_000), 2191, 0.15],
  [
    'Chinese',
    '今天天气很好，我们一起去公园散步吧。人工智能正在改变我们的生活方式，很多公司都在使用大型语言模型来提高工作效率。请把下面的文章翻译成英文，并且保持原来的语气和风格。北京是中华人民共和国的首都，是全国的政治中心、文化中心。',
    69,
    0.25,
  ],
  [
    'Japanese',
    '今日は天気がとても良いので、公園へ散歩に行きましょう。人工知能は私たちの生活を大きく変えつつあります。次の文章を英語に翻訳してください。東京は日本の首都であり、世界最大級の都市です。カタカナのテキストもコンピュータで処理します。',
    84,
    0.25,
  ],
  [
    'Korean',
    '오늘은 날씨가 아주 좋아서 공원에 산책하러 가고 싶습니다. 인공지능은 우리의 생활을 크게 바꾸고 있습니다. 다음 문장을 영어로 번역해 주세요. 서울은 대한민국의 수도입니다.',
    50,
    0.25,
  ],
  [
    'Russian',
    'Сегодня очень хорошая погода, поэтому мы пойдём гулять в парк. Искусственный интеллект меняет нашу жизнь, и многие компании используют большие языковые модели. Пожалуйста, переведите следующий текст на английский язык.',
    49,
    0.25,
  ],
  [
    'digest',
    'd41d8cd98f00b204e9800998ecf8427e 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    63,
    0.25,
  ],
  ['figures', '3.14159265358979 2718281828459045 12,345,678 2026-11-30 08:29:04', 33, 0.25],
];

for (const [name, text, tokens, tolerance] of COUNTED) {
  test(`${name}: within ${tolerance * 100} % of the vocabulary's count`, () => {
    const estimate = estimateTokens(text);
    assert.ok(Math.abs(estimate / tokens - 1) <= tolerance, `${estimate} for ${tokens}`);
  });
}

test('no text is no token, any other is at least one', () => {
  assert.equal(estimateTokens(''), 0);
  for (const text of [' ', '\n', 'a', '.', '\u0000', '\ud800', '😀', '一']) assert.ok(estimateTokens(text) >= 1, text);
});

test('a whole number within three a unit, and texts together cost about what they cost apart', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (one, two) => {
      const [a, b, both] = [estimateTokens(one), estimateTokens(two), estimateTokens(`${one}\n${two}`)];
      assert.ok(Number.isSafeInteger(a) && a >= 0 && a <= 3 * one.length + 1);
      assert.ok(Math.abs(both - a - b) <= 6, `${a} + ${b} against ${both}`);
    }),
    { numRuns: 2000 },
  );
});

test('of a long text samples are read: the estimate is near that of its pieces, also where its parts differ', () => {
  const licence = readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8');
  const code = readFileSync(new URL('./estimate-tokens.ts', import.meta.url), 'utf8');
  const mixed = [
    licence,
    code,
    '今天天气很好，我们一起去公园散步吧。'.repeat(300),
    PROSE.repeat(10),
    '0123456789abcdef '.repeat(500),
  ];
  for (const text of [licence.repeat(20), mixed.join('\n').repeat(8), 'a '.repeat(40_000), 'x'.repeat(100_000)]) {
    let pieces = 0;
    for (let at = 0; at < text.length; at += 16_384) pieces += estimateTokens(text.slice(at, at + 16_384));
    const ratio = estimateTokens(text) / pieces;
    assert.ok(ratio > 0.8 && ratio < 1.25, `${text.length} units: ${ratio}`);
  }
});
