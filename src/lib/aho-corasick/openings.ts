const ASCII = 128;

/** Where in a text a word may begin at all, as far as two neighbours tell. */
export interface Openings {
  /** The first place from `from` on, at most `last`, at which a word may begin; `last` is taken for one. */
  readonly next: (text: string, from: number, last: number) => number;
}

/**
 * Most of any text begins no word. Here each look waits for nothing but the text, where a step of the automaton waits for the one
 * before it. Every place with units beyond ASCII is one where a word may begin.
 */
export function openings(words: readonly string[], ignoreCase: boolean): Openings {
  /** At `first * 128 + second`: not 0 where a word begins with these two, or is the first one alone. */
  const opens = new Uint8Array(ASCII * ASCII);
  for (const word of words) {
    const pair = word.slice(0, 2);
    for (const spelled of ignoreCase ? spellings(pair) : [pair]) mark(opens, spelled);
  }
  return {
    next(text, from, last) {
      let at = from;
      let a = text.charCodeAt(at);
      for (; at + 4 <= last; at += 4) {
        const b = text.charCodeAt(at + 1);
        const c = text.charCodeAt(at + 2);
        const d = text.charCodeAt(at + 3);
        const e = text.charCodeAt(at + 4);
        if ((a | b | c | d | e) >= ASCII) break;
        const any = look(opens, a, b) | look(opens, b, c) | look(opens, c, d) | look(opens, d, e);
        if (any !== 0) break;
        a = e;
      }
      for (; at < last; at += 1) {
        const b = text.charCodeAt(at + 1);
        if ((a | b) >= ASCII || look(opens, a, b) !== 0) break;
        a = b;
      }
      return at;
    },
  };
}

function look(opens: Uint8Array, first: number, second: number): number {
  return opens[(first << 7) | second] ?? 0;
}

function mark(opens: Uint8Array, pair: string): void {
  if (pair === '' || pair.charCodeAt(0) >= ASCII) return;
  const from = pair.charCodeAt(0) * ASCII;
  if (pair.length === 1) opens.fill(1, from, from + ASCII);
  else if (pair.charCodeAt(1) < ASCII) opens[from + pair.charCodeAt(1)] = 1;
}

/** A pair in every mix of small and capital letters. */
function spellings(pair: string): readonly string[] {
  const first = pair.slice(0, 1);
  const second = pair.slice(1);
  return [first, first.toUpperCase()].flatMap((one) => [one + second, one + second.toUpperCase()]);
}
