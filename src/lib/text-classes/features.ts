import { charKind, DENSE, GAP, WORD } from '../fold-text/char-kind.ts';
import { FNV_BASIS, FNV_PRIME, mixed } from '../hash32/hash32.ts';

/** UTF-16 units of a text that are looked at: the beginning and the end, where instructions and questions stand. */
const HEAD = 6144;
const TAIL = 2048;

/** Version of what is made of a text: figures learned from one version mean nothing to another. */
export const FEATURES_VERSION = 1;

/** Figures of the whole text beside its words, in this order. */
export const FIGURES = [
  'length',
  'length_squared',
  'digits',
  'word_length',
  'capitals',
  'symbols',
  'not_ascii',
  'lines',
  'variety',
  'questions',
] as const;

/** What is known of one text. The arrays belong to the reader and hold until its next text. */
export interface Features {
  /** Slots of the words and pairs of words that are there, each once: `slots[0..count)`. */
  readonly slots: Int32Array;
  readonly count: number;
  /** What each of those slots weighs: all alike, and together a vector of length 1. */
  readonly value: number;
  /** As `FIGURES` says; about 0 to 1. */
  readonly figures: Float64Array;
}

const PAIR = 0x9e3779b1;
/** What runs of digits are made to: their length, not their value. */
const NUMBER = 0x23;
const LONGEST_NUMBER = 9;
const NO_BREAK_SPACE = 0xa0;
/** Keeps figures from outweighing words under one penalty. */
const FIGURE_WEIGHT = 0.3;

/** Texts that can be told apart by a number of 32 bits. */
const LAST_TEXT = 2 ** 31 - 1;

const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57;

/** The part of a text that is looked at: at most 8,192 units, whatever its length. */
export function excerptOf(text: string): string {
  return text.length <= HEAD + TAIL ? text : `${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`;
}

/** Counts of one text while it is read. */
interface Counts {
  digits: number;
  letters: number;
  words: number;
  fresh: number;
  capitals: number;
  symbols: number;
  notAscii: number;
  lines: number;
  questions: number;
}

function countUnits(part: string, counts: Counts): void {
  for (let at = 0; at < part.length; at += 1) {
    const unit = part.charCodeAt(at);
    if (unit >= 65 && unit <= 90) counts.capitals += 1;
    else if (unit > 127) counts.notAscii += 1;
    else if (unit === 10) counts.lines += 1;
    else if (unit === 63) counts.questions += 1;
  }
}

function wordEnd(small: string, from: number, end: number): number {
  let at = from + 1;
  while (at < end) {
    const unit = small.charCodeAt(at);
    const kind = charKind(unit);
    if (kind === GAP || kind === DENSE || isDigit(unit)) break;
    at += 1;
  }
  return at;
}

/**
 * Reads texts into slots of a table of `2 ** bits` by hashing words and pairs of neighbours, in one pass over at most 8,192 units. The
 * same text always gives the same features. Letters of scripts that write without gaps count as words of their own.
 */
export class FeatureReader {
  readonly size: number;
  readonly #seen: Int32Array;
  readonly #slots: Int32Array;
  readonly #figures = new Float64Array(FIGURES.length);
  #text = 0;
  #count = 0;

  constructor(bits: number) {
    this.size = 2 ** bits;
    this.#seen = new Int32Array(this.size);
    // A word and a pair for each unit at the very most.
    this.#slots = new Int32Array(2 * (HEAD + TAIL + 1));
  }

  read(text: string): Features {
    const part = excerptOf(text);
    if (this.#text === LAST_TEXT) {
      this.#seen.fill(0);
      this.#text = 0;
    }
    this.#text += 1;
    this.#count = 0;
    const counts = this.#words(part);
    this.#measure(counts, text.length, part.length);
    return {
      slots: this.#slots,
      count: this.#count,
      value: this.#count === 0 ? 0 : 1 / Math.sqrt(this.#count),
      figures: this.#figures,
    };
  }

  #words(part: string): Counts {
    const counts: Counts = {
      digits: 0,
      letters: 0,
      words: 0,
      fresh: 0,
      capitals: 0,
      symbols: 0,
      notAscii: 0,
      lines: 0,
      questions: 0,
    };
    countUnits(part, counts);
    const small = part.toLowerCase();
    let before = 0;
    let at = 0;
    // Small letters can be more units than capitals: what goes beyond the table of slots is left out.
    const end = Math.min(small.length, HEAD + TAIL + 1);
    while (at < end) {
      const unit = small.charCodeAt(at);
      const kind = charKind(unit);
      const from = at;
      let hash = FNV_BASIS;
      if (isDigit(unit)) {
        while (at < end && isDigit(small.charCodeAt(at))) at += 1;
        counts.digits += at - from;
        hash = Math.imul(Math.imul(hash ^ NUMBER, FNV_PRIME) ^ Math.min(at - from, LONGEST_NUMBER), FNV_PRIME);
      } else if (kind === GAP || kind === DENSE) {
        at += 1;
        if (unit <= 32 || unit === NO_BREAK_SPACE) continue;
        if (kind === GAP) counts.symbols += 1;
        hash = Math.imul(hash ^ unit, FNV_PRIME);
      } else {
        at = wordEnd(small, at, end);
        for (let letter = from; letter < at; letter += 1) hash = Math.imul(hash ^ small.charCodeAt(letter), FNV_PRIME);
        counts.letters += at - from;
        counts.words += 1;
      }
      const isFresh = this.#add(mixed(hash));
      if (isFresh && kind === WORD && !isDigit(unit)) counts.fresh += 1;
      if (before !== 0) this.#add(mixed(Math.imul(before, PAIR) ^ hash));
      before = hash;
    }
    return counts;
  }

  /** Was it new in this text? */
  #add(hash: number): boolean {
    const slot = hash & (this.size - 1);
    if (this.#seen[slot] === this.#text) return false;
    this.#seen[slot] = this.#text;
    this.#slots[this.#count] = slot;
    this.#count += 1;
    return true;
  }

  #measure(counts: Counts, length: number, read: number): void {
    const of = (count: number, times: number): number => (read === 0 ? 0 : Math.min(1, (count / read) * times));
    const long = Math.log1p(length) / 5 - 1;
    const figures = [
      long,
      long * long,
      of(counts.digits, 10),
      counts.words === 0 ? 0 : Math.min(1, counts.letters / counts.words / 5 - 1),
      of(counts.capitals, 10),
      of(counts.symbols, 10),
      of(counts.notAscii, 20),
      Math.min(1, counts.lines / 10),
      counts.words === 0 ? 0 : Math.min(1, counts.fresh / counts.words),
      Math.min(1, counts.questions / 3),
    ];
    for (const [at, figure] of figures.entries()) this.#figures[at] = figure * FIGURE_WEIGHT;
  }
}
