import { charKind, DENSE, WORD } from '../../lib/fold-text/char-kind.ts';
import { decodeBase64 } from '../../lib/fold-text/decode-base64.ts';
import { decodeEscapes } from '../../lib/fold-text/decode-escapes.ts';
import { decodeTags } from '../../lib/fold-text/decode-tags.ts';
import { foldLeet, isLeet } from '../../lib/fold-text/fold-leet.ts';
import { foldAscii, foldText } from '../../lib/fold-text/fold-text.ts';
import { type Squeezed, squeezeText } from '../../lib/fold-text/squeeze-text.ts';
import { type PartedProfile, profileParts, stretches } from '../../lib/fold-text/text-parts.ts';
import { APART, CONTROLS, ENCODED, ESCAPES, LEET, NON_ASCII, WIDE_SPACE } from '../../lib/fold-text/text-profile.ts';
import { type CompiledTerms, compileTerms, type Pattern, type PatternSet } from './term-patterns.ts';

/** How a term was written when it was found. */
export type Disguise = 'plain' | 'leet' | 'apart' | 'rot13' | 'escaped' | 'base64' | 'tags';

/** A term found: its index among the terms, never its text. */
export interface TermHit {
  readonly term: number;
  readonly disguise: Disguise;
}

/** Looks for terms in texts. Linear in the text, immutable, safe to share. */
export interface TermFilter {
  find(text: string): TermHit | null;
}

/** From this many units on a word wholly in look-alikes counts; shorter ones are words of their own language. */
const LEAST_LOOKALIKE = 5;
/** From this many letters on a spelled-out term counts inside a longer run of letters. */
const LEAST_INSIDE_RUN = 4;

const isWordAt = (text: string, at: number): boolean =>
  at >= 0 && at < text.length && charKind(text.charCodeAt(at)) === WORD;

/** Is `[start, end)` not part of a longer word? Only at sides where the term itself has a letter of a script with gaps. */
function onBoundaries(text: string, start: number, end: number): boolean {
  if (isWordAt(text, start) && isWordAt(text, start - 1)) return false;
  return !(isWordAt(text, end - 1) && isWordAt(text, end));
}

function firstHit(
  { automaton, patterns }: PatternSet,
  text: string,
  accept: (pattern: Pattern, start: number, end: number) => boolean,
): Pattern | null {
  let found: Pattern | null = null;
  automaton.scan(text, (word, start, end) => {
    const pattern = patterns[word];
    if (pattern === undefined || !accept(pattern, start, end)) return false;
    found = pattern;
    return true;
  });
  return found;
}

/** Would ASCII say the term without look-alikes (`cop` does not say a Cyrillic one)? */
const honestInAscii = (pattern: Pattern): boolean => pattern.rot13 || pattern.text === pattern.plain;

/** Would the original say the term without look-alikes, or is it plainly a disguise? See the README for the rule. */
function honest(source: string, offsets: Int32Array, pattern: Pattern, start: number, end: number): boolean {
  if (pattern.rot13) return true;
  const slice = foldText(source.slice(offsets[start], offsets[end])).text.trim();
  if (slice === pattern.plain) return true;
  // oxlint-disable-next-line no-control-regex -- ASCII as a whole is meant
  if (/^[\u0000-\u007f]*$/.test(slice)) return false;
  return pattern.text.length >= LEAST_LOOKALIKE || /[a-z]/.test(slice);
}

function findPlain(
  terms: CompiledTerms,
  text: string,
  counts: (pattern: Pattern, start: number, end: number) => boolean,
): TermHit | null {
  const pattern = firstHit(
    terms.main,
    text,
    (candidate, start, end) => (candidate.anywhere || onBoundaries(text, start, end)) && counts(candidate, start, end),
  );
  return pattern === null ? null : { term: pattern.term, disguise: pattern.rot13 ? 'rot13' : 'plain' };
}

function mixesLeet(text: string, start: number, end: number): boolean {
  let leet = false;
  let letter = false;
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i);
    if (isLeet(unit)) leet = true;
    else if (charKind(unit) === WORD) letter = true;
  }
  return leet && letter;
}

function findLeet(terms: CompiledTerms, text: string): TermHit | null {
  const pattern = firstHit(
    terms.leet,
    foldLeet(text),
    (_, start, end) => !isWordAt(text, start - 1) && !isWordAt(text, end) && mixesLeet(text, start, end),
  );
  return pattern === null ? null : { term: pattern.term, disguise: 'leet' };
}

/** Two phrases beside each other share no part wholly with a term that only their ends make up (`消毒 品尝`). */
function holdsPart({ parts }: Squeezed, start: number, end: number): boolean {
  return parts.some((from, index) => from >= start && (parts[index + 1] ?? Infinity) <= end);
}

function acceptSqueezed(squeezed: Squeezed, start: number, end: number): boolean {
  const { text, how } = squeezed;
  const whole = start === 0 && end === text.length;
  switch (how) {
    case 'inside':
      return whole;
    case 'spelled':
      return whole || end - start >= LEAST_INSIDE_RUN;
    case 'dense':
      return charKind(text.charCodeAt(start)) === DENSE && holdsPart(squeezed, start, end);
    default:
      return how satisfies never;
  }
}

function findApart(terms: CompiledTerms, text: string): TermHit | null {
  for (const squeezed of squeezeText(text)) {
    const pattern = firstHit(terms.squeezed, squeezed.text, (_, start, end) => acceptSqueezed(squeezed, start, end));
    if (pattern !== null) return { term: pattern.term, disguise: 'apart' };
  }
  return null;
}

/** All that needs no decoding. */
function findSurface(terms: CompiledTerms, source: string, profile: PartedProfile): TermHit | null {
  if ((profile.flags & NON_ASCII) === 0) return findInAscii(terms, source, profile);
  const { text, offsets } = foldText(source, { homoglyphs: true });
  const plain = findPlain(terms, text, (pattern, start, end) => honest(source, offsets, pattern, start, end));
  return plain ?? findLeet(terms, text) ?? findApart(terms, text);
}

function callsForFolding(terms: CompiledTerms, flags: number): boolean {
  // Controls may stand in the middle of any word, wide space only where there is a gap.
  return (flags & CONTROLS) !== 0 || ((flags & WIDE_SPACE) !== 0 && (terms.gaps || (flags & APART) !== 0));
}

/**
 * The profile of an ASCII text once folded: space and controls may have set apart by any length what is side by side then.
 * Space alone hides no disguise from the profile of the whole, only the part where it is.
 */
function profileFolded(source: string, text: string, profile: PartedProfile): PartedProfile {
  if (text.length === source.length || (profile.flags & (CONTROLS | LEET | APART)) === 0) return profile;
  return profileParts(text);
}

/** The dear looks are for those parts of the text that call for them. */
function findInAscii(terms: CompiledTerms, source: string, profile: PartedProfile): TermHit | null {
  const text = callsForFolding(terms, profile.flags) ? foldAscii(source) : source;
  const plain = findPlain(terms, text, honestInAscii);
  if (plain !== null) return plain;
  const seen = profileFolded(source, text, profile);
  if ((seen.flags & LEET) !== 0) {
    for (const stretch of stretches(text, seen, LEET, terms.leet.automaton.longest)) {
      const hit = findLeet(terms, stretch.toLowerCase());
      if (hit !== null) return hit;
    }
  }
  if ((seen.flags & APART) === 0) return null;
  for (const stretch of stretches(text, seen, APART, terms.squeezed.automaton.longest)) {
    const hit = findApart(terms, stretch.toLowerCase());
    if (hit !== null) return hit;
  }
  return null;
}

function findDecoded(terms: CompiledTerms, text: string, disguise: Disguise): TermHit | null {
  const hit = findSurface(terms, text, profileParts(text));
  return hit === null ? null : { term: hit.term, disguise };
}

/** Makes the filter for `terms`, as written in the configuration. 10,000 terms take well below a second. */
export function createTermFilter(terms: readonly string[]): TermFilter {
  const compiled = compileTerms(terms);
  return {
    find(text) {
      const profile = profileParts(text);
      const { flags } = profile;
      const surface = findSurface(compiled, text, profile);
      if (surface !== null) return surface;
      if ((flags & ESCAPES) !== 0) {
        const decoded = decodeEscapes(text);
        const hit = decoded === null ? null : findDecoded(compiled, decoded, 'escaped');
        if (hit !== null) return hit;
      }
      if ((flags & ENCODED) !== 0) {
        const places = (flags & NON_ASCII) === 0 ? stretches(text, profile, ENCODED, 0) : [text];
        for (const decoded of places.flatMap((place) => decodeBase64(place))) {
          const hit = findDecoded(compiled, decoded.text, 'base64');
          if (hit !== null) return hit;
        }
      }
      const tags = (flags & NON_ASCII) === 0 ? null : decodeTags(text);
      return tags === null ? null : findDecoded(compiled, tags, 'tags');
    },
  };
}
