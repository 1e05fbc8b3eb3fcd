import { foldChar } from './fold-char.ts';

/** Text as it counts for matching. */
export interface FoldedText {
  readonly text: string;
  /** Where each unit of `text` came from in the original, and behind the last one its length. */
  readonly offsets: Int32Array;
}

export interface FoldOptions {
  /** Shall letters of other scripts that look Latin become Latin? */
  readonly homoglyphs?: boolean;
}

const UNKNOWN = 0;
const SEVERAL = 0xffff;
const NOTHING = 0xfffe;
/** Rare characters remembered beside the table of the basic plane; forgotten all at once when there are more. */
const MAX_RARE = 4096;

interface Folds {
  /** By unit: what it folds to where that is one unit; filled as units are met. */
  readonly single: Uint16Array;
  readonly rare: Map<number, string>;
}

const newFolds = (): Folds => ({ single: new Uint16Array(65_536), rare: new Map() });
const PLAIN = newFolds();
const LATIN = newFolds();

/** Second halves of letters that are written in two code points: Hangul vowels and finals, voice marks, vowel signs. */
// oxlint-disable-next-line no-misleading-character-class -- single code points are meant
const JOINS = /[\u1160-\u11ff\u3099\u309a\p{Mn}\p{Mc}]/u;

function rareFold(folds: Folds, codePoint: number): string {
  const known = folds.rare.get(codePoint);
  if (known !== undefined) return known;
  const folded = foldChar(codePoint, folds === LATIN);
  if (folds.rare.size >= MAX_RARE) folds.rare.clear();
  folds.rare.set(codePoint, folded);
  return folded;
}

function learn(folds: Folds, unit: number): number {
  const folded = foldChar(unit, folds === LATIN);
  const code = folded.charCodeAt(0);
  const entry =
    folded === ''
      ? NOTHING
      : folded.length > 1 || code >= NOTHING || code === UNKNOWN || JOINS.test(folded)
        ? SEVERAL
        : code;
  folds.single[unit] = entry;
  return entry;
}

/** Grows by doubling, so that the cost a unit stays constant however much a character expands. */
class Output {
  units: Uint16Array;
  offsets: Int32Array;
  length = 0;

  constructor(size: number) {
    this.units = new Uint16Array(size + 32);
    this.offsets = new Int32Array(size + 33);
  }

  push(unit: number, offset: number): void {
    if (unit === 32 && this.length > 0 && this.units[this.length - 1] === 32) return;
    if (this.length + 1 >= this.units.length) this.#grow();
    this.units[this.length] = unit;
    this.offsets[this.length] = offset;
    this.length++;
  }

  /** Adds `text`, composing its first unit with the last one where the two are one letter. */
  join(text: string, offset: number): void {
    let rest = text;
    if (this.length > 0 && JOINS.test(text)) {
      const both = (String.fromCharCode(this.units[this.length - 1] ?? 0) + (text[0] ?? '')).normalize('NFC');
      if (both.length === 1) {
        this.units[this.length - 1] = both.charCodeAt(0);
        rest = text.slice(1);
      }
    }
    for (let i = 0; i < rest.length; i++) this.push(rest.charCodeAt(i), offset);
  }

  #grow(): void {
    const units = new Uint16Array(this.units.length * 2);
    units.set(this.units);
    this.units = units;
    const offsets = new Int32Array(this.units.length + 1);
    offsets.set(this.offsets);
    this.offsets = offsets;
  }
}

/** What each unit of ASCII folds to; 0 for what nobody sees. Look-alikes make no difference here. */
const ASCII = Uint8Array.from({ length: 128 }, (_, unit) => foldChar(unit, true).charCodeAt(0) || 0);

/** The text of `foldText` for one that is ASCII, at a fraction of the cost. */
export function foldAscii(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  let before = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const folded = ASCII[bytes[at] ?? 0] ?? 0;
    if (folded === 0 || (folded === 32 && before === 32)) continue;
    bytes[length] = folded;
    length += 1;
    before = folded;
  }
  return bytes.toString('latin1', 0, length);
}

/**
 * Folds `text` for matching: compatibility form (NFKC), no case, no marks over letters, nothing invisible, each run of
 * space one space, and with `homoglyphs` one script for letters that look alike. Linear; at most 18 units for one.
 */
export function foldText(text: string, { homoglyphs = false }: FoldOptions = {}): FoldedText {
  const folds = homoglyphs ? LATIN : PLAIN;
  const { single } = folds;
  const out = new Output(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const codePoint = text.codePointAt(i) ?? unit;
      out.join(rareFold(folds, codePoint), i);
      if (codePoint > 0xffff) i++;
      continue;
    }
    let folded = single[unit] ?? UNKNOWN;
    if (folded === UNKNOWN) folded = learn(folds, unit);
    if (folded < NOTHING) out.push(folded, i);
    else if (folded === SEVERAL) out.join(rareFold(folds, unit), i);
  }
  out.offsets[out.length] = text.length;
  const { units, length } = out;
  return {
    text: Buffer.from(units.buffer, 0, length * 2).toString('utf16le'),
    offsets: out.offsets.subarray(0, length + 1),
  };
}
