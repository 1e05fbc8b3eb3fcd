const SHINGLE = 5;
const HASHES = 64;
const BAND = 4;
/** Texts with so much of their runs of five words in common are taken for copies. */
const ALIKE = 0.5;

/** A group for each text: texts that are nearly the same, or that a chain of such leads to, have the same one. */
export function groupsOfCopies(texts: readonly string[]): Int32Array {
  const sets = texts.map(shinglesOf);
  const parent = Int32Array.from(texts, (_, at) => at);
  const root = (at: number): number => {
    let up = at;
    while (parent[up] !== up) {
      parent[up] = parent[parent[up] as number] as number;
      up = parent[up] as number;
    }
    return up;
  };
  const signatures = sets.map(signatureOf);
  for (let from = 0; from < HASHES; from += BAND) {
    const buckets = new Map<string, number[]>();
    for (const [at, signature] of signatures.entries()) {
      if ((sets[at] as ReadonlySet<number>).size === 0) continue;
      const key = signature.subarray(from, from + BAND).join(' ');
      const known = buckets.get(key) ?? [];
      // Against a few of a bucket: chains lead to the others.
      for (const other of known.slice(0, 20)) {
        const [a, b] = [root(at), root(other)];
        if (a !== b && common(sets[at] as ReadonlySet<number>, sets[other] as ReadonlySet<number>) >= ALIKE)
          parent[Math.max(a, b)] = Math.min(a, b);
      }
      known.push(at);
      buckets.set(key, known);
    }
  }
  return Int32Array.from(texts, (_, at) => root(at));
}

function shinglesOf(text: string): ReadonlySet<number> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const found = new Set<number>();
  for (let at = 0; at + SHINGLE <= words.length; at += 1) found.add(hashOf(words.slice(at, at + SHINGLE).join(' ')));
  return found;
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** MinHash: two sets agree in each place with the chance that is their common share. */
function signatureOf(set: ReadonlySet<number>): Uint32Array {
  const least = new Uint32Array(HASHES).fill(0xffffffff);
  for (const value of set)
    for (let at = 0; at < HASHES; at += 1) {
      let mix = Math.imul(value ^ Math.imul(at + 1, 0x9e3779b1), 0x85ebca6b);
      mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35);
      least[at] = Math.min(least[at] as number, (mix ^ (mix >>> 16)) >>> 0);
    }
  return least;
}

/** Jaccard's index. */
function common(a: ReadonlySet<number>, b: ReadonlySet<number>): number {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  let both = 0;
  for (const value of few) if (many.has(value)) both += 1;
  return both / (a.size + b.size - both);
}
