/** Control characters and direction marks, which would let a name from outside rewrite the terminal. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Any value as one line that is safe to print. */
export function printable(value: unknown): string {
  return String(value ?? '').replace(UNSAFE, '?');
}
