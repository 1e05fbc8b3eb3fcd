/** Small data that the tests of training go by: every sentence is our own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../hash32/seeded-random.ts';
import type { Sample } from './train.ts';

const PARTS = {
  code: {
    begin: [
      'write a function that',
      'fix the bug where the code',
      'refactor this class so it',
      'why does my python script',
    ],
    end: [
      'parses json input',
      'returns null on an empty list',
      'throws a type error in the loop',
      'sorts an array of objects',
    ],
  },
  math: {
    begin: [
      'solve the equation where x',
      'what is the sum when the total',
      'prove that the integral',
      'how many apples remain if she',
    ],
    end: ['equals 12 times 7', 'converges as n grows', 'is divided by 3 and doubled', 'buys 15 and gives away 4'],
  },
  chat: {
    begin: [
      'tell me a story in which',
      'what should I cook when',
      'recommend a film where',
      'write a birthday wish for a friend who',
    ],
    end: [
      'the dog finds its way home',
      'guests come on a rainy evening',
      'two sisters travel by train',
      'loves gardening and tea',
    ],
  },
} as const;

/** Questions of three kinds; `small` is as good as `large` at chat, worse at code, and hopeless at math. */
export function goldenSamples({ labelled }: { readonly labelled: boolean }): readonly Sample[] {
  const random = seededRandom(11);
  const chance = { code: 0.5, math: 0.05, chat: 0.95 } as const;
  return (Object.keys(PARTS) as (keyof typeof PARTS)[]).flatMap((kind) =>
    PARTS[kind].begin.flatMap((begin) =>
      PARTS[kind].end.flatMap((end) =>
        ['please', 'kindly', 'now', 'for me'].map((word) => ({
          text: `${begin} ${end}, ${word}`,
          class: labelled ? kind : null,
          quality: new Map([
            ['large', random() < 0.95 ? 1 : 0],
            ['small', random() < chance[kind] ? 1 : 0],
          ]),
        })),
      ),
    ),
  );
}

test('there are as many of each kind, and none twice', () => {
  const samples = goldenSamples({ labelled: true });
  assert.equal(samples.length, 192);
  assert.equal(new Set(samples.map(({ text }) => text)).size, 192);
});
