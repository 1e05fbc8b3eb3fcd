import { mixed } from '../../../src/lib/hash32/hash32.ts';
import { seededRandom } from '../../../src/lib/hash32/seeded-random.ts';

/** A source of numbers in [0, 1). */
export type Random = () => number;

export const createRandom: (seed: number) => Random = seededRandom;

/** A number in [0, 2^32) that depends on all bits of `value`. */
export const hashNumber: (value: number) => number = mixed;
