import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createAutomaton, type Match } from './aho-corasick.ts';
import { cpuTimeMs } from '../../../test/support/cpu-time.ts';

function naive(words: readonly string[], text: string): Match[] {
  const found: Match[] = [];
  for (let end = 1; end <= text.length; end++) {
    for (let start = 0; start < end; start++) {
      const word = words.indexOf(text.slice(start, end));
      if (word >= 0) found.push({ word, start, end });
    }
  }
  return found;
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '弹', '\u{1f4a3}'), maxLength: 6 });

test('finds what a naive search finds, longest first at each end', () => {
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 12 }),
      fc.string({ unit: fc.constantFrom('a', 'b', 'c', '弹', '\u{1f4a3}', ' '), maxLength: 40 }),
      (words, text) => {
        const automaton = createAutomaton(words);
        const expected = naive(words, text);
        assert.deepEqual(automaton.all(text), expected);
        assert.deepEqual(automaton.first(text), expected[0] ?? null);
      },
    ),
    { numRuns: 500 },
  );
});

test('capital letters of ASCII are read as small ones on wish, in long stretches without any word as well', () => {
  const unit = fc.constantFrom('a', 'B', 'b', 'A', 'x', 'X', 'y', 'z', '-', ' ', 'é', 'Ä');
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'x', 'é'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), fc.string({ unit, maxLength: 60 }), (words, text) => {
      const automaton = createAutomaton(words, { ignoreCase: true });
      const small = text.replaceAll(/[A-Z]/g, (capital) => capital.toLowerCase());
      assert.deepEqual(automaton.all(text), naive(words, small));
    }),
    { numRuns: 1000 },
  );
});

test('state carried over pieces gives the matches of the whole, whatever the cut', () => {
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 8 }),
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '弹'), maxLength: 7 }), { maxLength: 8 }),
      (words, pieces) => {
        const automaton = createAutomaton(words);
        const found: Match[] = [];
        let state = 0;
        let offset = 0;
        for (const piece of pieces) {
          const base = offset;
          state = automaton.scan(
            piece,
            (word, start, end) => {
              found.push({ word, start: base + start, end: base + end });
              return false;
            },
            state,
          );
          offset += piece.length;
        }
        assert.deepEqual(found, automaton.all(pieces.join('')));
      },
    ),
    { numRuns: 300 },
  );
});

test('no words, empty words and equal words', () => {
  assert.equal(createAutomaton([]).first('anything'), null);
  assert.equal(createAutomaton(['']).first('anything'), null);
  assert.deepEqual(createAutomaton(['x', 'x']).all('x'), [{ word: 0, start: 0, end: 1 }]);
});

/** Enough that ticks of 4 ms, in which some systems count, do not matter. */
const SCANS = 100;

test('ten thousand words: building and scanning stay cheap, also on text made to fall back', (t) => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((seed / 0x80000000) * below);
  };
  const words = Array.from({ length: 10_000 }, () =>
    Array.from({ length: 4 + random(9) }, () =>
      String.fromCharCode(random(4) === 0 ? 0x4e00 + random(3000) : 97 + random(26)),
    ).join(''),
  );
  const begun = cpuTimeMs();
  const automaton = createAutomaton(words);
  const built = cpuTimeMs() - begun;
  const text = Array.from({ length: 16_384 }, () => String.fromCharCode(97 + random(26))).join('');
  automaton.all(text);
  const from = cpuTimeMs();
  for (let scan = 0; scan < SCANS; scan += 1) automaton.all(text);
  const scanned = (cpuTimeMs() - from) / SCANS;
  t.diagnostic(`10,000 words: built in ${built.toFixed(0)} ms; 16 KiB scanned in ${scanned.toFixed(2)} ms`);
  assert.ok(built < 800, `built in ${built} ms`);
  assert.ok(scanned < 8, `scanned in ${scanned} ms`);
});
