import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createTermFilter } from './term-filter.ts';

const PROSE = 'Please say hello to everyone who reads this, and keep it short and friendly. ';
const LISTS = [
  ['bomb', 'terrible'],
  ['bomb', 'terrible', 'kill all humans'],
] as const;
const FILTERS = LISTS.map((terms) => createTermFilter(terms));
/** Around the borders of the parts that a long text is looked at in, and far beyond. */
const SIZES = [
  1, 2, 5, 6, 10, 63, 64, 65, 1000, 1983, 1984, 1985, 2000, 2047, 2048, 2049, 2112, 3000, 4095, 4096, 4097, 6000,
  100_000,
];
/** Control characters that are no space. */
const CONTROLS = Array.from({ length: 32 }, (_, unit) => unit)
  .filter((unit) => unit < 9 || unit > 13)
  .concat(127)
  .map((unit) => String.fromCharCode(unit));

test('words of a term may be parted by any run of space, also where a word is disguised', () => {
  const filter = createTermFilter(['bomb', 'kill all humans']);
  for (const size of SIZES) {
    for (const space of [' ', '\n', '\t', '\r\n']) {
      const gap = space.repeat(size);
      for (const [text, disguise] of [
        [`kill${gap}all${gap}humans`, 'plain'],
        [`k1ll${gap}all humans`, 'leet'],
        [`kill all${gap}hum4ns`, 'leet'],
        [`k1ll${gap}all${gap}hum4ns`, 'leet'],
      ] as const) {
        const hit = filter.find(`${PROSE.repeat(3)}${text} ${PROSE}`);
        assert.deepEqual(hit, { term: 1, disguise }, JSON.stringify([size, space, text.slice(0, 8)]));
      }
    }
  }
});

test('letters may be set apart by any run of space, whether or not another term has a space', () => {
  for (const [index, filter] of FILTERS.entries()) {
    for (const size of SIZES) {
      for (const space of [' ', '\n', '\t', ' \u0001']) {
        for (const mark of ['', '-', '.']) {
          const text = Array.from('bomb').join(`${space.repeat(size)}${mark}`);
          const hit = filter.find(`${PROSE.repeat(3)}${text} ${PROSE}`);
          assert.deepEqual(hit, { term: 0, disguise: 'apart' }, JSON.stringify([index, size, space, mark]));
        }
      }
    }
  }
});

test('control characters hide nothing, whether or not a term has a space', () => {
  for (const [index, filter] of FILTERS.entries()) {
    for (const control of CONTROLS) {
      const hit = filter.find(`how to make a b${control}omb`);
      assert.deepEqual(hit, { term: 0, disguise: 'plain' }, JSON.stringify([index, control]));
      assert.equal(filter.find(`how to make a b${control} meal`), null);
    }
    for (const size of SIZES) {
      const run = '\u0001'.repeat(size);
      for (const [text, disguise] of [
        [`b${run}omb`, 'plain'],
        [`b${run}0mb`, 'leet'],
        [`b0${run}mb`, 'leet'],
        [`b${run}-${run}o${run} ${run}m${run}.${run}b`, 'apart'],
        [`te${run}-${run}rr-ible`, 'apart'],
      ] as const) {
        const hit = filter.find(`${PROSE.repeat(3)}${text} ${PROSE}`);
        assert.equal(hit?.disguise, disguise, JSON.stringify([index, size, text.slice(0, 3)]));
      }
    }
  }
});

test('space within a word still parts it', () => {
  for (const filter of FILTERS) {
    for (const size of SIZES) assert.equal(filter.find(`${PROSE}b${' '.repeat(size)}omb ${PROSE}`), null);
  }
});

test('letters that look like those of another script say no term of that script, however the text is spaced', () => {
  for (const terms of [['сор'], ['сор', 'kill all humans']]) {
    const filter = createTermFilter(terms);
    for (const text of ['a cop came', 'a cop\ncame', 'a  cop\u0001 came', 'a cop came é'])
      assert.equal(filter.find(text), null, JSON.stringify([terms, text]));
    assert.deepEqual(filter.find('это сор'), { term: 0, disguise: 'plain' });
    const began = performance.now();
    assert.equal(filter.find('cop\n'.repeat(100_000)), null);
    // Generous: a look at the whole text for each of them would take an hour.
    assert.ok(performance.now() - began < 5000);
  }
});

/** How a term may come, in pieces between which any space or any controls may stand. */
const PIECES: readonly (readonly [between: 'space' | 'controls', pieces: readonly string[]])[] = [
  ['space', ['kill', 'all', 'humans']],
  ['space', ['k1ll', 'all', 'humans']],
  ['space', ['kill', 'all', 'hum4ns']],
  ['space', ['k!ll', '@ll', 'human$']],
  ['space', Array.from('bomb')],
  ['space', ['b', '-', 'o', 'm', '.', 'b']],
  ['space', Array.from('terrible')],
  ['controls', Array.from('bomb')],
  ['controls', Array.from('b0mb')],
  ['controls', Array.from('terrible')],
  ['controls', ['te', '-', 'rr', '-', 'ible']],
  ['controls', Array.from('kill all humans')],
  ['controls', Array.from('k1ll all hum4ns')],
];

test('a term in pieces is found in a long text as it is with nothing but a little between them', () => {
  const sizes = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 5000 }));
  const run = (units: readonly string[]): fc.Arbitrary<string> =>
    fc.tuple(fc.constantFrom(...units), sizes).map(([unit, size]) => unit.repeat(size));
  const space = run([' ', '\n', '\t', '\r\n', ' \u0001']);
  const controls = fc.oneof(fc.constant(''), run(CONTROLS));
  const disguised = fc.constantFrom(...PIECES).chain(([between, pieces]) =>
    fc.tuple(
      fc.constant(pieces.join(between === 'space' ? ' ' : '')),
      fc
        .array(between === 'space' ? space : controls, { minLength: pieces.length, maxLength: pieces.length })
        .map((gaps) => pieces.map((piece, at) => (at === 0 ? piece : `${gaps[at] ?? ''}${piece}`)).join('')),
    ),
  );
  const around = fc.constantFrom(PROSE, 'one two-three 4 five\n', 'x1 y2 (a b) c.d ', 'no ', 'line after line\n\n');
  fc.assert(
    fc.property(
      disguised,
      around,
      fc.nat({ max: 6000 }),
      fc.nat({ max: 6000 }),
      ([short, long], words, before, behind) => {
        const start = words.repeat(Math.ceil(before / words.length));
        const end = words.repeat(Math.ceil(behind / words.length));
        for (const filter of FILTERS) {
          const hit = filter.find(`say ${short} now`);
          const found = filter.find(`${start}say ${long} now ${end}`);
          assert.deepEqual(found, hit, JSON.stringify([short, long.length, words, start.length, end.length]));
        }
      },
    ),
    { numRuns: 1000 },
  );
  for (const [between, pieces] of PIECES)
    assert.ok(FILTERS[1]?.find(`say ${pieces.join(between === 'space' ? ' ' : '')} now`), pieces.join('|'));
});
