import { type Automaton, createAutomaton } from '../../lib/aho-corasick/aho-corasick.ts';
import { charKind, DENSE, GAP, WORD } from '../../lib/fold-text/char-kind.ts';
import { foldLeet } from '../../lib/fold-text/fold-leet.ts';
import { foldText } from '../../lib/fold-text/fold-text.ts';
import { rot13 } from '../../lib/fold-text/rot13.ts';

/** One spelling of a term that an automaton looks for. */
export interface Pattern {
  /** Index of the term in the configuration. */
  readonly term: number;
  readonly text: string;
  /** The term folded without look-alikes: what an undisguised hit folds to. */
  readonly plain: string;
  readonly rot13: boolean;
  /** Counts inside longer words too. */
  readonly anywhere: boolean;
}

/** Patterns and the automaton that finds them by index. */
export interface PatternSet {
  readonly patterns: readonly Pattern[];
  readonly automaton: Automaton;
}

/** Everything that a filter needs, made once a configuration. */
export interface CompiledTerms {
  readonly main: PatternSet;
  readonly leet: PatternSet;
  /** Spellings without any gap, for words whose letters were set apart. */
  readonly squeezed: PatternSet;
  /** Does a term hold a space? Else runs of space matter between letters that stand alone only. */
  readonly gaps: boolean;
}

/** From this many letters on a single word counts inside longer words: below, too many innocent words hold it. */
const LONG_WORD = 8;
/** Shorter words become other common words too easily under rot13 (`barf` and `ones`). */
const LEAST_ROT13 = 5;
const LEAST_LEET = 4;
const LEAST_SQUEEZED = 3;

function only(text: string, kind: number): boolean {
  for (let i = 0; i < text.length; i++) if (charKind(text.charCodeAt(i)) !== kind) return false;
  return true;
}

function withoutGaps(text: string): string {
  let out = '';
  for (let i = 0; i < text.length; i++) if (charKind(text.charCodeAt(i)) !== GAP) out += text[i] ?? '';
  return out;
}

/** The spellings under which a term may come: Greek capitals look like other Latin letters than their small forms do. */
function spellings(term: string): readonly string[] {
  const title = term.toLowerCase().replace(/(^|\s)\S/g, (first) => first.toUpperCase());
  const folded = [term, term.toLowerCase(), term.toUpperCase(), title].map((spelling) =>
    foldText(spelling, { homoglyphs: true }).text.trim(),
  );
  return [...new Set([...folded, foldText(term).text.trim()])].filter((spelling) => spelling !== '');
}

function patternSet(patterns: readonly Pattern[], ignoreCase = false): PatternSet {
  return {
    patterns,
    automaton: createAutomaton(
      patterns.map(({ text }) => text),
      { ignoreCase },
    ),
  };
}

/** Makes the automata for `terms`. Terms that fold to nothing are left out. */
export function compileTerms(terms: readonly string[]): CompiledTerms {
  const main: Pattern[] = [];
  const leet: Pattern[] = [];
  const squeezed: Pattern[] = [];
  terms.forEach((written, term) => {
    const plain = foldText(written).text.trim();
    for (const text of spellings(written)) {
      const pattern = { term, text, plain, rot13: false, anywhere: text.length >= LONG_WORD && only(text, WORD) };
      main.push(pattern);
      if (text.length >= LEAST_LEET && /[a-z]/.test(text)) leet.push({ ...pattern, text: foldLeet(text) });
      const letters = withoutGaps(text);
      if (letters.length >= LEAST_SQUEEZED || (letters.length === 2 && only(letters, DENSE))) {
        squeezed.push({ ...pattern, text: letters });
      }
      // oxlint-disable-next-line no-control-regex -- ASCII as a whole is meant
      if (withoutGaps(text).length >= LEAST_ROT13 && /^[\u0000-\u007f]*$/.test(text)) {
        main.push({ ...pattern, text: rot13(text), rot13: true, anywhere: false });
      }
    }
  });
  return {
    // Folded texts hold no capital letters of ASCII, and plain ones need no folding for their sake.
    main: patternSet(main, true),
    leet: patternSet(leet),
    squeezed: patternSet(squeezed),
    gaps: main.some((pattern) => pattern.text.includes(' ')),
  };
}
