import { ABSENT, isView, Many, MISSING, UnknownPath, type View } from './view.ts';

type Segment =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'all' }
  | { readonly kind: 'range'; readonly from: number; readonly to: number };

const TOKEN = /<[^>]+>|\[[^\]]*\]|[^.[\]<>]+/g;

/** Reads `step[0].client.sse[*].choices[0].delta.content`; a name in `<…>` stands as it is. */
export function parsePath(path: string): readonly Segment[] {
  const tokens = path.match(TOKEN) ?? [];
  const words = path.replaceAll(/\[[^\]]*\]/g, '').split('.');
  if (words.includes('')) throw new UnknownPath(`no path: ${path}`);
  return tokens.map((token): Segment => {
    if (!token.startsWith('[')) return { kind: 'name', name: token };
    const inside = token.slice(1, -1);
    if (inside === '*' || inside === 'k') return { kind: 'all' };
    const range = /^(\d+)\.\.(\d+)$/.exec(inside);
    if (range !== null) return { kind: 'range', from: Number(range[1]), to: Number(range[2]) };
    return { kind: 'key', key: inside };
  });
}

/** The value at a path, `ABSENT`, `MISSING`, or `Many` of them. `a - b` and `a + b` work on numbers, element by element. */
export function valueAt(root: View, path: string): unknown {
  const sum = /^(.+) ([+-]) (.+)$/.exec(path);
  if (sum === null) return follow(root, parsePath(path));
  const [, left = '', sign, right = ''] = sum;
  return combined(valueAt(root, left), valueAt(root, right), (a, b) => (sign === '+' ? a + b : a - b));
}

function combined(left: unknown, right: unknown, apply: (a: number, b: number) => number): unknown {
  if (left instanceof Many && right instanceof Many) {
    // Values that have no partner cannot be compared, and that must not go unseen.
    if (left.values.length !== right.values.length) return MISSING;
    return new Many(left.values.map((value, index) => combined(value, right.values[index], apply)));
  }
  return typeof left === 'number' && typeof right === 'number' ? apply(left, right) : MISSING;
}

function follow(value: unknown, segments: readonly Segment[]): unknown {
  const [segment, ...rest] = segments;
  if (segment === undefined) return value;
  if (value instanceof Many) return flat(value.values.map((one) => follow(one, segments)));
  if (value === MISSING || value === ABSENT) return value;
  if (segment.kind === 'name') return follow(member(value, segment.name), rest);
  if (segment.kind === 'key') return follow(element(value, segment.key), rest);
  if (segment.kind === 'all') return eachOf(listOf(value), rest);
  const keys = Array.from({ length: segment.to - segment.from + 1 }, (_, index) => String(segment.from + index));
  return eachOf(
    keys.map((key) => element(value, key)),
    rest,
  );
}

/** A list that is not there is one absent value, not none: `[*]` must not pass because nothing came. */
function eachOf(list: readonly unknown[] | typeof ABSENT, rest: readonly Segment[]): unknown {
  if (list === ABSENT) return ABSENT;
  return flat(list.filter((one) => one !== undefined).map((one) => follow(one, rest)));
}

function flat(values: readonly unknown[]): Many {
  return new Many(values.flatMap((value) => (value instanceof Many ? value.values : [value])));
}

function listOf(value: unknown): readonly unknown[] | typeof ABSENT {
  if (isView(value)) {
    if (value.items === undefined) throw new UnknownPath('[*] of something that is no list');
    return value.items;
  }
  return Array.isArray(value) ? value : ABSENT;
}

function element(value: unknown, key: string): unknown {
  if (isView(value)) {
    if (value.at === undefined) throw new UnknownPath(`[${key}] of something that is no list`);
    return value.at(key) ?? MISSING;
  }
  if (Array.isArray(value)) return Number(key) < value.length ? (value[Number(key)] as unknown) : ABSENT;
  return ABSENT;
}

function member(value: unknown, name: string): unknown {
  if (isView(value)) return value.get(name);
  if (name === 'length' && (typeof value === 'string' || Array.isArray(value))) return value.length;
  if (typeof value !== 'object' || value === null) return ABSENT;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : ABSENT;
}
