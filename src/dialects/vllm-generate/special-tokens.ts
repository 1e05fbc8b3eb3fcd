/** Control tokens as models write them: `<|im_end|>` (also with full-width bars), `[/INST]`, `</s>`, `<end_of_turn>`. */
const IN_SOURCE = /<[|｜][^|｜<>\s]{1,64}[|｜]>|\[\/?[A-Z][A-Z_]{1,40}\]|<\/?[a-z][a-z_]{0,40}>/g;
/** A family that uses bars has more tokens than its template names. */
const BARS = String.raw`<[|｜][^|｜<>\s]{1,64}[|｜]>`;
/** Zero-width joiner: invisible, and enough for a tokenizer not to see the token. */
const JOINER = '\u200d';

/** Finds and breaks the control tokens of one template in texts that clients wrote. */
export interface SpecialTokens {
  /** The first one in `text`, or null. */
  readonly find: (text: string) => string | null;
  /** `text` with each one broken by a zero-width joiner after its first character. */
  readonly escape: (text: string) => string;
}

/** `source` is the template's own text, comments included: every token that stands there counts. `more` adds to them. */
export function specialTokensOf({ source, more }: { source: string; more: readonly string[] }): SpecialTokens {
  const named = new Set([...(source.match(IN_SOURCE) ?? []), ...more.filter((token) => token !== '')]);
  const hasBars = [...named].some((token) => /^<[|｜]/.test(token));
  // The longest first, so that no token hides a longer one that begins with it.
  const literals = [...named].toSorted((a, b) => b.length - a.length).map(escapeRegExp);
  const alternatives = hasBars ? [...literals, BARS] : literals;
  if (alternatives.length === 0) return { find: () => null, escape: (text) => text };
  const pattern = new RegExp(alternatives.join('|'), 'g');
  return {
    find: (text) => text.match(pattern)?.[0] ?? null,
    escape: (text) => text.replace(pattern, (token) => breakToken(token)),
  };
}

function breakToken(token: string): string {
  const first = String.fromCodePoint(token.codePointAt(0) ?? 0);
  return first + JOINER + token.slice(first.length);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}
