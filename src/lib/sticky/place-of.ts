const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** A name's 32 bits, spread evenly: FNV-1a, then the last mixing of MurmurHash3, for the low bits of the first alone are not even for names that are alike. */
export function bitsOf(name: string): number {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A name's fixed place in [0, 1), spread evenly: a larger share holds whoever is in a smaller one. */
export function placeOf(name: string): number {
  return bitsOf(name) / 2 ** 32;
}

/** Numbers in [0, 1), the same sequence each time for the same name (mulberry32). */
export function drawsOf(name: string): () => number {
  let state = bitsOf(name);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
