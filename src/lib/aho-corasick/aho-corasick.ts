import { transitions } from './transitions.ts';
import { openings } from './openings.ts';
import { buildTrie, type Trie } from './trie.ts';

/** A word found: its index in the list given, and where it stands in UTF-16 units, `[start, end)`. */
export interface Match {
  readonly word: number;
  /** Below 0 when the word began in an earlier piece of the same stream. */
  readonly start: number;
  readonly end: number;
}

/** Called for each match by its end, longest first; `true` ends the scan. */
export type Visit = (word: number, start: number, end: number) => boolean;

/** Finds many words in one pass. Immutable: one automaton serves any number of scans at once. */
export interface Automaton {
  /** Units of the longest word: nothing that a stream has yet to say can complete a match that began further back. */
  readonly longest: number;
  /** Reads `text` on from `state` (0 is the start) and gives the state behind it, to be passed with the next piece. */
  scan(text: string, visit: Visit, state?: number): number;
  /** The match that ends first; of those the longest. */
  first(text: string): Match | null;
  all(text: string): Match[];
}

/** Node numbers by depth, by counting: failure links need every shorter node first, and creation order is depth-first. */
function byDepth(trie: Trie, longest: number): Int32Array {
  const starts = new Int32Array(longest + 2);
  for (let node = 0; node < trie.size; node++)
    starts[(trie.depth[node] ?? 0) + 1] = (starts[(trie.depth[node] ?? 0) + 1] ?? 0) + 1;
  for (let d = 1; d < starts.length; d++) starts[d] = (starts[d] ?? 0) + (starts[d - 1] ?? 0);
  const order = new Int32Array(trie.size);
  for (let node = 0; node < trie.size; node++) {
    const d = trie.depth[node] ?? 0;
    const at = starts[d] ?? 0;
    order[at] = node;
    starts[d] = at + 1;
  }
  return order;
}

/** For each node, where to go on when none of its children fits. */
export interface Links {
  readonly fail: Int32Array;
  /** The nearest shorter node that ends a word, 0 when there is none. */
  readonly output: Int32Array;
}

function link(trie: Trie, order: Int32Array): Links {
  const fail = new Int32Array(trie.size);
  const output = new Int32Array(trie.size);
  for (const node of order) {
    if ((trie.depth[node] ?? 0) < 2) continue;
    const unitClass = trie.via[node] ?? 0;
    let from = fail[trie.parent[node] ?? 0] ?? 0;
    let target = trie.child(from, unitClass);
    while (target < 0 && from !== 0) {
      from = fail[from] ?? 0;
      target = trie.child(from, unitClass);
    }
    const suffix = Math.max(target, 0);
    fail[node] = suffix;
    output[node] = trie.word[suffix] === -1 ? (output[suffix] ?? 0) : suffix;
  }
  return { fail, output };
}

function measured(words: readonly string[]): { readonly units: number; readonly longest: number } {
  let units = 0;
  let longest = 0;
  for (const word of words) {
    units += word.length;
    longest = Math.max(longest, word.length);
  }
  return { units, longest };
}

/**
 * An Aho-Corasick automaton over UTF-16 units. Building is linear in the units of all words, scanning in those of the text
 * (plus the matches). Equal words count as the first of them; empty words never match. `ignoreCase`: words hold no capital letters
 * of ASCII, and those of texts are read as the small ones. Throws `RangeError` for words of more than 2^24 units in all.
 */
export function createAutomaton(
  words: readonly string[],
  { ignoreCase = false }: { readonly ignoreCase?: boolean } = {},
): Automaton {
  const { units, longest } = measured(words);
  if (units > 1 << 24) throw new RangeError(`too many words: ${units} units`);
  const trie = buildTrie(words, units);
  const { classes, child, depth, word: wordAt } = trie;
  if (ignoreCase) for (let unit = 0x41; unit <= 0x5a; unit++) classes[unit] = classes[unit + 0x20] ?? 0;
  const order = byDepth(trie, longest);
  const { fail, output } = link(trie, order);
  const table = transitions(trie, fail, order);
  const opens = openings(words, ignoreCase);
  const atRoot = new Int32Array(trie.classCount);
  for (let c = 1; c < trie.classCount; c++) atRoot[c] = Math.max(child(0, c), 0);

  function step(state: number, unitClass: number): number {
    let from = state;
    while (from !== 0) {
      const next = child(from, unitClass);
      if (next >= 0) return next;
      from = fail[from] ?? 0;
    }
    return atRoot[unitClass] ?? 0;
  }

  /** True when `visit` has had enough. */
  function tell(node: number, end: number, visit: Visit): boolean {
    let at = wordAt[node] === -1 ? (output[node] ?? 0) : node;
    while (at !== 0) {
      if (visit(wordAt[at] ?? 0, end - (depth[at] ?? 0), end)) return true;
      at = output[at] ?? 0;
    }
    return false;
  }

  function walk(text: string, visit: Visit, state: number): number {
    let node = state;
    for (let i = 0; i < text.length; i++) {
      const unitClass = classes[text.charCodeAt(i)] ?? 0;
      if (unitClass === 0) {
        node = 0;
        continue;
      }
      node = node === 0 ? (atRoot[unitClass] ?? 0) : step(node, unitClass);
      if (tell(node, i + 1, visit)) return node;
    }
    return node;
  }

  function scan(text: string, visit: Visit, state = 0): number {
    if (table === null) return walk(text, visit, state);
    const { rows, width } = table;
    const last = text.length - 1;
    let row = state * width;
    for (let i = 0; i <= last; i++) {
      if (row === 0 && text.charCodeAt(i) < 128) i = opens.next(text, i, last);
      const next = rows[row + (classes[text.charCodeAt(i)] ?? 0)] ?? 0;
      row = next < 0 ? ~next : next;
      if (next < 0 && tell(row / width, i + 1, visit)) break;
    }
    return row / width;
  }

  return {
    longest,
    scan,
    first(text) {
      let found: Match | null = null;
      scan(text, (word, start, end) => {
        found = { word, start, end };
        return true;
      });
      return found;
    },
    all(text) {
      const found: Match[] = [];
      scan(text, (word, start, end) => {
        found.push({ word, start, end });
        return false;
      });
      return found;
    },
  };
}
