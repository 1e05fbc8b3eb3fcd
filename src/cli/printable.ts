/** Control characters (Cc), line and direction marks, which would let a name from outside rewrite the terminal. */
export const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Any value as one line that is safe to print; an object as JSON. */
export function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
  return text.replace(UNSAFE, '?');
}
