import { charKind, DENSE, GAP } from './char-kind.ts';

/** Letters of one word that were set apart, put together. Places are units of the text given, `[start, end)`. */
export interface Squeezed {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** `spelled`: single letters with gaps (`b o m b`). `inside`: a word with marks in it (`bo-mb`). `dense`: letters of a script without gaps. */
  readonly how: 'spelled' | 'inside' | 'dense';
  /** Where each part that was set apart begins in `text`, and behind the last one its length. */
  readonly parts: readonly number[];
}

/** The widest gap that still counts as one between letters of a word: an emoji, a space, an emoji. */
const MAX_GAP = 5;
/** Longer runs are cut: nobody spells out more. */
const MAX_RUN = 256;
const MARKS_INSIDE = new Set(Array.from("-_.*'`+~^|:", (char) => char.charCodeAt(0)));
/** Ends of sentences part words of a dense script; other gaps between its letters do not. */
const SENTENCE_END = new Set(Array.from('。，、！？；：!?;,()（）「」“”"', (char) => char.charCodeAt(0)));

/** One letter of an Indic script as a reader sees it: a consonant or several joined by viramas, with its signs. */
const SYLLABLE = /^\p{L}(?:[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d]\p{L}|\p{M})*$/u;
const MAX_SYLLABLE = 10;

interface Token {
  start: number;
  end: number;
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  let start = -1;
  for (let i = 0; i <= text.length; i++) {
    const gap = i === text.length || charKind(text.charCodeAt(i)) === GAP;
    if (gap && start >= 0) {
      found.push({ start, end: i });
      start = -1;
    } else if (!gap && start < 0) start = i;
  }
  return found;
}

function gapAllows(text: string, from: number, to: number, how: Squeezed['how']): boolean {
  if (to - from > MAX_GAP) return false;
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i);
    if (how === 'inside' && (to - from > 1 || !MARKS_INSIDE.has(unit))) return false;
    if (how === 'dense' && SENTENCE_END.has(unit)) return false;
  }
  return true;
}

function isSingle(text: string, { start, end }: Token): boolean {
  if (end - start === 1) return true;
  return end - start <= MAX_SYLLABLE && text.charCodeAt(start) > 0x8ff && SYLLABLE.test(text.slice(start, end));
}

function joins(text: string, left: Token, right: Token, how: Squeezed['how']): boolean {
  if (how === 'spelled' && !(isSingle(text, left) && isSingle(text, right))) return false;
  if (how === 'dense') {
    if (charKind(text.charCodeAt(left.end - 1)) !== DENSE || charKind(text.charCodeAt(right.start)) !== DENSE)
      return false;
  }
  return gapAllows(text, left.end, right.start, how);
}

function runs(text: string, all: readonly Token[], how: Squeezed['how'], least: number): Squeezed[] {
  const found: Squeezed[] = [];
  for (let from = 0; from < all.length;) {
    let to = from + 1;
    for (; to < all.length && to - from < MAX_RUN; to++) {
      const left = all[to - 1];
      const right = all[to];
      if (left === undefined || right === undefined || !joins(text, left, right, how)) break;
    }
    const first = all[from];
    const last = all[to - 1];
    if (to - from >= least && first !== undefined && last !== undefined) {
      let squeezed = '';
      const parts = [0];
      for (const token of all.slice(from, to)) {
        squeezed += text.slice(token.start, token.end);
        parts.push(squeezed.length);
      }
      found.push({ text: squeezed, start: first.start, end: last.end, how, parts });
    }
    from = to;
  }
  return found;
}

/**
 * Every run of `text` that may be a word whose letters were set apart. Linear. Three ways: at least three single letters
 * with gaps of at most five units; words with single marks inside; letters of scripts without gaps, whatever gap is
 * between them but the end of a sentence.
 */
export function squeezeText(text: string): readonly Squeezed[] {
  const all = tokens(text);
  return [...runs(text, all, 'spelled', 3), ...runs(text, all, 'inside', 2), ...runs(text, all, 'dense', 2)];
}
