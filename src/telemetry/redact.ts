const HIDDEN = '[redacted]';
const SECRET_KEY =
  /authorization|cookie|apikey|secret|passw|passphrase|privatekey|credential|^jwt$|^bearer$|^pwd$|(?:^|access|refresh|id|auth|session|api|bearer|csrf)token$/;
const PROMPT_KEYS = new Set(
  (
    'messages prompt prompts content contents input inputs text texts arguments completion completions output system tools ' +
    'body raw payload query email phone'
  ).split(' '),
);
/** Secrets by their own look, in any text. Each alternative is one class repeated, so that it stays linear. */
const SECRET_TEXT =
  /\b(?:bearer|basic)\s+[\w+/=.~-]{6,}|\beyJ[\w-]{6,}(?:\.[\w-]+){0,4}|\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w-]{8,}|\bAKIA[0-9A-Z]{12,}|\b(?:api[-_]?key|token|secret|password|passwd|pwd|cookie|authorization)["']?\s?[=:]\s?["']?[^\s"',;&]+|:\/\/[^\s/@:]{1,256}:[^\s/@]{1,256}@/gi;

const MAX_TEXT = 2048;
const MAX_KEY = 128;
const MAX_DEPTH = 6;
const MAX_KEYS = 64;
const MAX_NODES = 512;

interface Walk {
  nodes: number;
  readonly path: Set<object>;
}

/** Short texts without digits that were found clean: our own words and names, the same in every line. */
const innocent = new Set<string>();
const MAX_INNOCENT = 2048;
const MAX_INNOCENT_TEXT = 48;

function isWordy(text: string): boolean {
  if (text.length > MAX_INNOCENT_TEXT) return false;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7e || (unit >= 0x30 && unit <= 0x39)) return false;
  }
  return true;
}

/** `text` without what looks like a secret, at most 2,048 units. */
export function redactText(text: string): string {
  if (innocent.has(text)) return text;
  const short = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  const clean = short.replace(SECRET_TEXT, HIDDEN);
  if (clean === text && isWordy(text)) {
    if (innocent.size >= MAX_INNOCENT) innocent.clear();
    // A copy: a piece of a longer text would keep the whole of it in memory.
    innocent.add(Buffer.from(text, 'latin1').toString('latin1'));
  }
  return clean;
}

/** What a key means: what is shown in its place, and whether its value is hidden. */
interface Key {
  readonly shown: string;
  readonly hides: boolean;
}

/** Keys are our own words, the same in every line; others fill the rest of the room once and are then judged each time. */
const known = new Map<string, Key>();
const MAX_KNOWN = 1024;

function keyOf(key: string): Key {
  const before = known.get(key);
  if (before !== undefined) return before;
  const name = key.toLowerCase().replace(/[-_. ]/g, '');
  const judged = { shown: redactText(key.slice(0, MAX_KEY)), hides: SECRET_KEY.test(name) || PROMPT_KEYS.has(name) };
  if (known.size < MAX_KNOWN && key.length <= MAX_KEY) known.set(key, judged);
  return judged;
}

function isPlain(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined;
}

function read(source: object, key: string): unknown {
  try {
    return (source as Record<string, unknown>)[key];
  } catch {
    return '[unreadable]';
  }
}

function cleanError(error: Error, walk: Walk, depth: number): unknown {
  const cause = read(error, 'cause');
  return {
    type: redactText(String(read(error, 'name'))),
    message: redactText(String(read(error, 'message'))),
    code: clean(read(error, 'code'), walk, depth + 1),
    stack: redactText(String(read(error, 'stack'))),
    ...(cause === undefined ? {} : { cause: clean(cause, walk, depth + 1) }),
  };
}

function cleanObject(value: object, walk: Walk, depth: number): unknown {
  if (walk.path.has(value)) return '[circular]';
  if (depth > MAX_DEPTH) return '[deep]';
  walk.path.add(value);
  try {
    if (value instanceof Error) return cleanError(value, walk, depth);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value)) return value.slice(0, MAX_KEYS).map((item: unknown) => clean(item, walk, depth + 1));
    const out: Record<string, unknown> = {};
    for (const key of Object.keys(value).slice(0, MAX_KEYS)) {
      const item = read(value, key);
      const { shown, hides } = keyOf(key);
      out[shown] = hides && !isPlain(item) ? HIDDEN : clean(item, walk, depth + 1);
    }
    return out;
  } finally {
    walk.path.delete(value);
  }
}

function clean(value: unknown, walk: Walk, depth: number): unknown {
  if (++walk.nodes > MAX_NODES) return '[more]';
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'bigint':
      return value.toString();
    case 'object':
      return value === null ? null : cleanObject(value, walk, depth);
    case 'number':
    case 'boolean':
    case 'undefined':
      return value;
    case 'function':
    case 'symbol':
    default:
      return `[${typeof value}]`;
  }
}

/** Is it plain JSON that `clean` would copy unchanged? Most lines are. No cycle passes, for none is so shallow. */
function isClean(value: unknown, walk: { nodes: number }, depth: number): boolean {
  if (++walk.nodes > MAX_NODES) return false;
  if (typeof value === 'string') return redactText(value) === value;
  if (typeof value !== 'object' || value === null) return isPlain(value);
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) if (!isClean(item, walk, depth + 1)) return false;
    return value.length <= MAX_KEYS;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  const keys = Object.keys(value);
  for (const key of keys) {
    const item = (value as Record<string, unknown>)[key];
    const { shown, hides } = keyOf(key);
    if (shown !== key || (hides && !isPlain(item)) || !isClean(item, walk, depth + 1)) return false;
  }
  return keys.length <= MAX_KEYS;
}

/** Is `value` fit for a log as it is? Then `redact` gives it back itself. */
export function isFit(value: unknown): boolean {
  try {
    return isClean(value, { nodes: 0 }, 0);
  } catch {
    // A getter that throws: the copy says so in its place.
    return false;
  }
}

/**
 * `value` fit for a log: plain JSON, bounded in size, without values under keys that name secrets or prompts and without
 * text that looks like a secret. Itself where nothing had to be done, else a copy. Cycles, getters that throw and big
 * integers do no harm.
 */
export function redact(value: unknown): unknown {
  return isFit(value) ? value : clean(value, { nodes: 0, path: new Set() }, 0);
}
