/** What FNV-1a begins with, and what it multiplies by: `hash = Math.imul(hash ^ unit, FNV_PRIME)`. */
export const FNV_BASIS = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/** FNV-1a of the UTF-16 units of a text, below 2^32. The low bits alone are not even for texts that are alike: see `mixed`. */
export function fnv1a(text: string): number {
  let hash = FNV_BASIS;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** The last mixing of MurmurHash3: every bit of what comes out, below 2^32, depends on every bit of `hash`. */
export function mixed(hash: number): number {
  let state = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}
