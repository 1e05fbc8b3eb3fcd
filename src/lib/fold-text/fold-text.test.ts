import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growth } from '../../../test/support/growth.ts';
import * as fc from 'fast-check';
import { decodeBase64 } from './decode-base64.ts';
import { decodeEscapes } from './decode-escapes.ts';
import { decodeTags } from './decode-tags.ts';
import { foldLeet } from './fold-leet.ts';
import { foldAscii, foldText } from './fold-text.ts';
import { rot13 } from './rot13.ts';
import { squeezeText } from './squeeze-text.ts';
import { profileParts } from './text-parts.ts';
import { APART, CONTROLS, ENCODED, ESCAPES, LEET, NON_ASCII, profileText, WIDE_SPACE } from './text-profile.ts';

const latin = (text: string): string => foldText(text, { homoglyphs: true }).text;

test('folds case, width, style, marks and space', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['BoMb', 'bomb'],
    ['ｂｏｍｂ', 'bomb'],
    ['𝐛𝑜𝓶𝖇 𝚋', 'bomb b'],
    ['Ⓑⓞⓜⓑ 🅱🅾', 'bomb bo'],
    ['b\u0301o\u0334\u0336m\u20e3b', 'bomb'],
    ['bómb', 'bomb'],
    ['b\u200bo\u200d\u2060m\u00adb', 'bomb'],
    ['\u202eb\u2066o\u2069mb', 'bomb'],
    ['b\ufe0fo\u{e0101}m\u{e0062}b', 'bomb'],
    ['ﬁne \t\r\n\u00a0\u3000 x', 'fine x'],
    ['Straße STRASSE', 'strasse strasse'],
    ['İstanbul', 'istanbul'],
    ['ΛΟΓΟΣ λόγος', 'λογοσ λογοσ'],
  ];
  for (const [from, to] of cases) assert.equal(foldText(from).text, to, JSON.stringify(from));
});

test('letters that look Latin become Latin only when asked', () => {
  assert.equal(latin('bоmb сосаіпе ΒΟΜΒ ᴄʀᴀᴄᴋ'), 'bomb cocaine bomb crack');
  assert.equal(foldText('сосна').text, 'сосна');
});

test('letters in two code points fold as the same letters in one', () => {
  for (const text of ['한국어', 'がぎぐ', 'हिन्दी', 'தமிழ்', 'Tiếng Việt', 'বাংলা']) {
    assert.equal(foldText(text.normalize('NFD')).text, foldText(text).text, text);
  }
  assert.equal(foldText('ｶﾞ').text, 'ガ');
  // Words of Indic scripts that differ by a vowel sign stay different.
  assert.notEqual(foldText('की').text, foldText('का').text);
});

test('offsets point at the original', () => {
  const { text, offsets } = foldText('a\u200b ｂ\u{1d41b}');
  assert.equal(text, 'a bb');
  assert.deepEqual([...offsets], [0, 2, 3, 4, 6]);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.boolean(), (original, homoglyphs) => {
      const folded = foldText(original, { homoglyphs });
      const places = [...folded.offsets];
      assert.equal(places.length, folded.text.length + 1);
      assert.equal(places.at(-1), original.length);
      assert.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
      );
      assert.equal(foldText(folded.text, { homoglyphs }).text.length <= folded.text.length + 18, true);
    }),
    { numRuns: 1000 },
  );
});

test('folding is stable, and the same whether or not characters are met for the first time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
      assert.equal(foldText(text).text, foldText(text).text);
      const upper = foldText(text.toUpperCase().toLowerCase()).text;
      assert.equal(upper, foldText(upper).text);
    }),
    { numRuns: 500 },
  );
});

test('folding is linear, also for the longest expansions and stacks of marks', () => {
  for (const char of ['ﷺ', '\u0301', 'e', '\u{e0041}', 'क', '\u1161']) {
    const times = growth((size) => {
      const text = char.repeat(size);
      return () => void foldText(text);
    }, 20_000);
    assert.ok(times < 3, `${char}: ${times}`);
  }
});

const texts = (text: string): string[] => squeezeText(text).map((squeezed) => `${squeezed.how}:${squeezed.text}`);

test('puts together letters that were set apart', () => {
  assert.deepEqual(texts('make a b.o - m b now'), ['spelled:abomb', 'inside:bo']);
  assert.deepEqual(texts('bo-mb'), ['inside:bomb']);
  assert.deepEqual(texts('炸 弹'), ['dense:炸弹']);
  assert.deepEqual(texts('炸。弹'), []);
  assert.deepEqual(texts('I am at a party'), []);
  assert.deepEqual(texts('a      b      c'), []);
});

test('decodes escapes, base64, tags, rot13 and leet', () => {
  assert.equal(decodeEscapes('%62o%6d%62 &#98;&#x6F;m&#0098; \\u0062\\x6f\\u{6d}b'), 'bomb bomb bomb');
  assert.equal(decodeEscapes('%25%36%32'), 'b');
  assert.equal(decodeEscapes('%E7%82%B8'), '炸');
  assert.equal(decodeEscapes('100% & more \\ x'), null);
  assert.equal(decodeEscapes('&#99999999; &#x110000;'), '9; ');
  assert.deepEqual(decodeBase64('see Ym9tYg== now'), [{ text: 'bomb', start: 4, end: 12 }]);
  assert.equal(decodeBase64('54K45by554K45by5')[0]?.text, '炸弹炸弹');
  assert.deepEqual(decodeBase64('internationalisation AAAAAAAAAAAA ////////'), []);
  assert.equal(decodeTags('x\u{e0062}\u{e006f} \u{e006d}'), 'bo m');
  assert.equal(decodeTags('plain \u{1f600}'), null);
  assert.equal(rot13('Bomb 1'), 'Obzo 1');
  assert.equal(foldLeet('k1ll $33'), 'kiii see');
});

test('base64 is bounded by run and by text', () => {
  const long = Buffer.from('word '.repeat(5000)).toString('base64');
  assert.equal(decodeBase64(long)[0]?.text.length, 3072);
  const many = `${Buffer.from('word '.repeat(600)).toString('base64')} `.repeat(100);
  const decoded = decodeBase64(many).reduce((sum, run) => sum + run.text.length, 0);
  assert.ok(decoded <= 49_152 && decoded > 40_000, String(decoded));
});

test('the profile raises a flag for each thing that another pass would find', () => {
  assert.equal(profileText('Write a short poem about the sea, please.'), 0);
  assert.equal(profileText("Don't do it: it is fine.") & ~APART, 0);
  const flagged: readonly (readonly [string, number])[] = [
    ['é', NON_ASCII],
    ['a\nb', WIDE_SPACE],
    ['a  b', WIDE_SPACE],
    ['%62', ESCAPES],
    ['&#98;', ESCAPES],
    ['\\u0062', ESCAPES],
    ['b0mb', LEET],
    ['$uicide', LEET],
    ['bom8', LEET],
    ['ki$$', LEET],
    ['Ym9tYg==', ENCODED],
    ['b o m', APART],
    ['bo-mb', APART],
    ...[9, 10, 11, 12, 13].map((unit) => [`b${String.fromCharCode(unit)}b`, WIDE_SPACE] as const),
    ...[0, 1, 8, 14, 27, 31, 127].map((unit) => [`b${String.fromCharCode(unit)}b`, CONTROLS] as const),
  ];
  for (const [text, flag] of flagged) assert.equal(profileText(text) & flag, flag, text);
});

test('whatever squeezing and decoding find was announced by the profile', () => {
  const ascii = fc.string({ unit: fc.constantFrom(...Array.from('abAB09 .-_*=+/%&#;\\u|')), maxLength: 40 });
  fc.assert(
    fc.property(ascii, (text) => {
      const flags = profileText(text);
      if (squeezeText(text).length > 0) assert.ok((flags & APART) !== 0, 'apart');
      if (decodeEscapes(text) !== null) assert.ok((flags & ESCAPES) !== 0, 'escapes');
      if (decodeBase64(text).length > 0) assert.ok((flags & ENCODED) !== 0, 'encoded');
    }),
    { numRuns: 3000 },
  );
});

test('ASCII folds to the same by its short way', () => {
  const text = fc.string({
    unit: fc.integer({ min: 0, max: 127 }).map((unit) => String.fromCharCode(unit)),
    maxLength: 200,
  });
  fc.assert(
    fc.property(text, (ascii) => {
      assert.equal(foldAscii(ascii), foldText(ascii, { homoglyphs: true }).text);
    }),
    { numRuns: 2000 },
  );
});

test('space of any length hides no disguise from the profile of a long text', () => {
  const gap = fc.tuple(fc.constantFrom(' ', '\n', '\t', '\r\n'), fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 5000 })));
  const piece = fc.oneof(
    fc.constantFrom('b', 'o', 'x1', '-', '.', 'word', 'a ', 'no-no', '$o'),
    gap.map(([space, count]) => space.repeat(count)),
  );
  fc.assert(
    fc.property(fc.nat({ max: 5000 }), fc.array(piece, { maxLength: 12 }), (before, pieces) => {
      const text = `${'word '.repeat(before / 5)}${'w'.repeat(before % 5)}${pieces.join('')}`;
      const once = profileParts(foldAscii(text)).flags & (LEET | APART);
      assert.equal(once & ~profileParts(text).flags, 0, JSON.stringify([before, pieces]));
    }),
    { numRuns: 2000 },
  );
});
