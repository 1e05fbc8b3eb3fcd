/** What has a canonical form: what `JSON.parse` gives. */
export type JcsValue = null | boolean | number | string | readonly JcsValue[] | { readonly [key: string]: JcsValue };

/** The value has no canonical form. `message` says why, without the value. */
export class JcsError extends Error {
  override readonly name = 'JcsError';
}

/** Deeper values are refused: a cycle would never end. */
const MAX_DEPTH = 256;
/** With the flag `u`, a surrogate matches only when it has no partner. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;
/** Texts without these stand between quotes as they are. */
// oxlint-disable-next-line no-control-regex -- JSON escapes control characters.
const NEEDS_CARE = /["\\\u0000-\u001f\ud800-\udfff]/;
/** UTF-16 units up to which a loop is faster than the pattern. */
const SHORT = 64;

/** The keys of objects that look alike, as they come and in canonical order with their quotes and colon. */
interface Shape {
  readonly keys: readonly string[];
  readonly sorted: readonly string[];
  readonly heads: readonly string[];
}

/** Shapes met, by their first key. */
const shapes = new Map<string, Shape[]>();
const MOST_FIRSTS = 256;
const MOST_OF_A_FIRST = 8;
const MOST_KEYS = 128;

/**
 * JSON in its canonical form, RFC 8785: no white space, keys in the order of their UTF-16 units, numbers and escapes as
 * ECMAScript writes them. Its bytes are the UTF-8 of what comes back. Throws `JcsError` for lone surrogates, NaN,
 * infinities, `undefined`, anything that is no plain object, and more than 256 levels.
 */
export function canonicalJson(value: JcsValue): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'number':
      if (!Number.isFinite(value)) throw new JcsError('NaN and infinities have no JSON form');
      // ECMAScript's own form is the one that RFC 8785 section 3.2.2.3 asks for; -0 becomes 0.
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (depth >= MAX_DEPTH) throw new JcsError(`nested deeper than ${MAX_DEPTH} levels`);
      return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1);
    default:
      throw new JcsError(`${typeof value} has no JSON form`);
  }
}

function isPlain(text: string): boolean {
  if (text.length > SHORT) return !NEEDS_CARE.test(text);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit <= 0xdfff)) return false;
  }
  return true;
}

function writeString(text: string): string {
  if (isPlain(text)) return `"${text}"`;
  if (LONE_SURROGATE.test(text)) throw new JcsError('a lone surrogate has no UTF-8 form');
  return JSON.stringify(text);
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = '[';
  // By index: a hole is `undefined` and is refused, where `map` would pass over it.
  for (let i = 0; i < items.length; i += 1) text += (i === 0 ? '' : ',') + write(items[i], depth);
  return `${text}]`;
}

function writeObject(object: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) throw new JcsError('only plain objects have a JSON form');
  const { sorted, heads } = shapeOf(Object.keys(object));
  let text = '{';
  for (let at = 0; at < sorted.length; at += 1)
    text += (heads[at] ?? '') + write((object as Record<string, unknown>)[sorted[at] ?? ''], depth);
  return `${text}}`;
}

/** Sorting the same keys for every record costs more than all the rest: it is done once a shape. */
function shapeOf(keys: readonly string[]): Shape {
  const [first = ''] = keys;
  const alike = shapes.get(first);
  if (alike !== undefined) for (const shape of alike) if (isSame(shape.keys, keys)) return shape;
  // Without a comparison function, strings are ordered by their UTF-16 units: section 3.2.3.
  const sorted = keys.toSorted();
  const heads = sorted.map((key, at) => `${at === 0 ? '' : ','}${writeString(key)}:`);
  const shape = { keys, sorted, heads };
  if (keys.length <= MOST_KEYS) remember(first, shape, alike);
  return shape;
}

/** Bounded: who has makes room. */
function remember(first: string, shape: Shape, alike: Shape[] | undefined): void {
  if (alike !== undefined && alike.length < MOST_OF_A_FIRST) alike.push(shape);
  else {
    if (alike === undefined && shapes.size >= MOST_FIRSTS) shapes.clear();
    shapes.set(first, [shape]);
  }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false;
  return true;
}

/**
 * Whether `text` is the canonical form of `value`, which `JSON.parse` made of it: `canonicalJson(value) === text`, mostly by
 * way of `JSON.stringify`, which keeps the order of keys and is several times as fast. False where there is no such form.
 */
export function isCanonical(value: JcsValue, text: string): boolean {
  // An escape may stand for a lone surrogate, and keys such as "10" are moved by the parser: there it is written out.
  if (!text.includes('\\u') && hasSortedKeys(value, 0) && JSON.stringify(value) === text) return true;
  try {
    return canonicalJson(value) === text;
  } catch {
    return false;
  }
}

function hasSortedKeys(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => hasSortedKeys(item, depth + 1));
  let last: string | null = null;
  for (const key of Object.keys(value)) {
    if (last !== null && key <= last) return false;
    last = key;
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === 'object' && inner !== null && !hasSortedKeys(inner, depth + 1)) return false;
  }
  return true;
}
