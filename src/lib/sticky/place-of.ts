import { fnv1a, mixed } from '../hash32/hash32.ts';
import { seededRandom } from '../hash32/seeded-random.ts';

/** A name's 32 bits, spread evenly also for names that are alike. */
function bitsOf(name: string): number {
  return mixed(fnv1a(name));
}

/** A name's fixed place in [0, 1), spread evenly: a larger share holds whoever is in a smaller one. */
export function placeOf(name: string): number {
  return bitsOf(name) / 2 ** 32;
}

/** Numbers in [0, 1), the same sequence each time for the same name. */
export function drawsOf(name: string): () => number {
  return seededRandom(bitsOf(name));
}
