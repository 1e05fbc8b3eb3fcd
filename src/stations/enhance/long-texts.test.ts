import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createTermFilter } from './term-filter.ts';

const filter = createTermFilter(['bomb', 'forbidden word', 'terrible', '炸弹']);
const PROSE = 'Please say hello to everyone who reads this, and keep it short and friendly. ';

/** How a term may come: each is found in a short text. */
const DISGUISES = [
  'bomb',
  'BOMB',
  'forbidden word',
  'forbidden\n\tword',
  'b0mb',
  'f0rb1dden word',
  'forbidden w0rd',
  'b o m b',
  'b  -  o  -  m  -  b',
  'te-rr-ib-le',
  'b.o.m.b',
  't e r r i b l e',
  't\ne\nr\nr\ni\nb\nl\ne',
  Buffer.from('this is a bomb').toString('base64'),
  '%62%6f%6d%62',
  'greevoyr',
  'ｂｏｍｂ',
  'b\u200bomb',
  '炸 弹',
] as const;

test('a disguise in the middle of a long text is found as in a short one, wherever it is', () => {
  const around = fc.constantFrom(PROSE, 'one two-three 4 five\n', 'x1 y2 (a b) c.d ', 'no', 'line after line\n');
  fc.assert(
    fc.property(
      fc.constantFrom(...DISGUISES),
      around,
      around,
      fc.nat({ max: 6000 }),
      fc.nat({ max: 6000 }),
      (disguise, left, right, before, behind) => {
        const start = left.repeat(Math.ceil(before / left.length));
        const end = right.repeat(Math.ceil(behind / right.length));
        const near = `${start.slice(-300)} ${disguise} ${end.slice(0, 300)}`;
        const hit = filter.find(near);
        const found = filter.find(`${start} ${disguise} ${end}`);
        assert.deepEqual(found, hit, JSON.stringify([disguise, left, right, start.length, end.length]));
      },
    ),
    { numRuns: 3000 },
  );
  for (const disguise of DISGUISES) assert.ok(filter.find(`say ${disguise} now`) !== null, disguise);
});

test('a text without two words beside each other takes time in proportion to its length', () => {
  const took = (units: number): number => {
    // Parts that call for a look, and parts that do not, in turn.
    const text = `${'abc,'.repeat(1024)}${'x1,'.repeat(4)}`.repeat(units / 4108);
    const began = performance.now();
    assert.equal(filter.find(text), null);
    return performance.now() - began;
  };
  took(100_000);
  // Generous: work that grew with the square of it would take minutes.
  assert.ok(took(4_000_000) < 5000);
});

test('long honest texts stay honest, whatever odd words they hold', () => {
  const odd = fc.constantFrom(
    'c0-p0',
    'a b',
    'x1',
    'self-made',
    'I/O',
    'e.g.',
    'A B C',
    'v1.2-rc.3',
    '50%',
    'no_break',
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(odd, fc.nat({ max: 60 })), { maxLength: 30 }), (places) => {
      const text = places.map(([word, count]) => `${word} ${PROSE.repeat(count)}`).join('');
      assert.equal(filter.find(text), null);
    }),
    { numRuns: 100 },
  );
});
