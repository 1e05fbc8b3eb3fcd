const QUOTE = '"';
/** Above this many keys, comparing with each costs more than a set. */
const SCAN_AT_MOST = 12;

/**
 * The keys of the objects that are open, innermost last. Keys keep their opening quote: text that looks like a whole number
 * has a predictable hash in V8, and a set of such keys could be made to collide from outside.
 */
export class KeyLevels {
  readonly #keys: string[] = [];
  readonly #bases: number[] = [];
  readonly #sets: (Set<string> | null)[] = [];

  open(): void {
    this.#bases.push(this.#keys.length);
    this.#sets.push(null);
  }

  close(): void {
    this.#sets.pop();
    this.#keys.length = this.#bases.pop() ?? 0;
  }

  /** False when the innermost object has this key already. `key` is the token with its quotes, bytes as latin1. */
  add(token: string): boolean {
    const key = token.includes('\\') ? unescapedToken(token) : token;
    const level = this.#bases.length - 1;
    const base = this.#bases[level] ?? 0;
    const keys = this.#keys;
    const set = this.#sets[level] ?? null;
    if (set !== null) {
      const before = set.size;
      return set.add(key).size > before;
    }
    for (let at = base; at < keys.length; at += 1) if (keys[at] === key) return false;
    keys.push(key);
    if (keys.length - base > SCAN_AT_MOST) this.#sets[level] = new Set(keys.slice(base));
    return true;
  }
}

/** The text that a key token stands for. Throws `SyntaxError` on a broken escape. */
export function decodeToken(token: string): string {
  return JSON.parse(Buffer.from(token, 'latin1').toString('utf8')) as string;
}

/** The same key as it stands without escapes, so that `mod\u0065l` equals `model`. */
function unescapedToken(token: string): string {
  return QUOTE + Buffer.from(decodeToken(token), 'utf8').toString('latin1') + QUOTE;
}
