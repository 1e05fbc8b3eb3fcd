import { isDeepStrictEqual } from 'node:util';
import { ABSENT, HeaderValues, Many, MISSING, UnknownPath } from './view.ts';

/** What an operator may ask for beside its two sides. */
export interface OperatorContext {
  readonly tol: number;
  /** The value at another path, `sibling('raw_body')` being beside the last word of `on`. */
  readonly at: (path: string) => unknown;
  readonly on: string;
}

/** Null when it holds, else why not. */
export type Verdict = string | null;
type Operator = (actual: unknown, expected: unknown, context: OperatorContext) => Verdict;

const when = (holds: boolean, why: string): Verdict => (holds ? null : why);
const num = (value: unknown): number => (typeof value === 'number' ? value : Number.NaN);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** One value of a header is a text, several are a list. */
function plain(value: unknown, expected: unknown): unknown {
  if (!(value instanceof HeaderValues)) return value;
  return Array.isArray(expected) || value.values.length !== 1 ? value.values : value.values[0];
}

function textOf(value: unknown): string {
  const raw = plain(value, '');
  if (typeof raw === 'string') return raw;
  return raw === undefined || typeof raw === 'symbol' ? '' : JSON.stringify(raw);
}

const present = (value: unknown): boolean => value !== ABSENT && value !== undefined;
const same: Operator = (actual, expected) => when(isDeepStrictEqual(plain(actual, expected), expected), 'not equal');
const nonEmpty = (value: unknown): boolean =>
  value === ABSENT || (typeof value === 'string' || Array.isArray(value) ? value.length > 0 : value !== null);

function has(actual: unknown, expected: unknown): boolean {
  const value = plain(actual, '');
  return Array.isArray(value) && typeof expected !== 'string'
    ? value.some((one) => isDeepStrictEqual(one, expected))
    : Array.isArray(value) && value.includes(expected)
      ? true
      : textOf(actual).includes(String(expected));
}

function orderedIn(text: string, words: readonly unknown[]): boolean {
  let at = 0;
  return words.every((word) => {
    const found = text.indexOf(String(word), at);
    at = found + 1;
    return found >= 0;
  });
}

/** Operators on one value; over `[*]` each value must hold. */
const EACH: Readonly<Record<string, Operator>> = {
  eq: same,
  deep_eq: same,
  contains: (actual, expected) => when(present(actual) && has(actual, expected), 'does not contain it'),
  not_contains: (actual, expected) => when(!present(actual) || !has(actual, expected), 'contains it'),
  absent: (actual) => when(!present(actual), 'is there'),
  present: (actual) => when(present(actual) && actual !== null, 'is not there'),
  lt: (actual, expected) => when(num(actual) < num(expected), 'not less'),
  le: (actual, expected) => when(num(actual) <= num(expected), 'more'),
  gt: (actual, expected) => when(num(actual) > num(expected), 'not more'),
  ge: (actual, expected) => when(num(actual) >= num(expected), 'less'),
  in: (actual, expected) =>
    when(
      list(expected).some((one) =>
        one === '__absent__' ? !present(actual) : isDeepStrictEqual(plain(actual, one), one),
      ),
      'not one of them',
    ),
  not_in: (actual, expected) => when(!list(expected).some((one) => isDeepStrictEqual(actual, one)), 'one of them'),
  approx: (actual, expected, { tol }) => when(Math.abs(num(actual) - num(expected)) <= tol, 'too far off'),
  is_string: (actual) => when(typeof plain(actual, '') === 'string', 'not a string'),
  is_array: (actual) => when(Array.isArray(actual), 'not a list'),
  non_empty_array: (actual) => when(Array.isArray(actual) && actual.length > 0, 'not a list with something in it'),
  startswith: (actual, expected) => when(textOf(actual).startsWith(String(expected)), 'begins otherwise'),
  endswith: (actual, expected) => when(textOf(actual).endsWith(String(expected)), 'ends otherwise'),
  matches: (actual, expected) => when(regex(String(expected)).test(textOf(actual)), 'does not match'),
  json_eq: (actual, expected) => when(isDeepStrictEqual(parsed(textOf(actual)), expected), 'not equal as JSON'),
  null_or_ge: (actual, expected) => when(actual === null || num(actual) >= num(expected), 'neither null nor as much'),
  not_nan: (actual) => when(actual === null || Number.isFinite(actual), 'not a number'),
  keys_subset_of: (actual, expected) =>
    when(
      typeof actual === 'object' && actual !== null && Object.keys(actual).every((key) => list(expected).includes(key)),
      'has other keys',
    ),
  contains_in_order: (actual, expected) => when(orderedIn(textOf(actual), list(expected)), 'not in that order'),
  not_duplicated: (actual) =>
    when(!(actual instanceof HeaderValues) || actual.values.length === 1, 'there more than once'),
  // At most one value, and not the one that the client sent.
  absent_or_single_trusted: (actual, _expected, { on, at }) => {
    if (!(actual instanceof HeaderValues)) return null;
    const sent = at(`sent.headers.${on.slice(on.lastIndexOf('.') + 1)}`);
    if (actual.values.length > 1) return 'there more than once';
    return when(!isDeepStrictEqual(sent, actual), 'is what the client sent');
  },
  // Older SDKs take a blank line after a comment for an event once an id has come.
  safe_for_sdk: (actual) => {
    const text = textOf(actual).replaceAll(/\r\n?/g, '\n');
    return when(
      !/(?:^|\n)id:[^\n]*\n(?:[\s\S]*\n)?:[^\n]*\n\n/.test(text),
      'a blank line follows a comment after an id',
    );
  },
};

/** Operators on all values of a path together. */
const WHOLE: Readonly<Record<string, Operator>> = {
  concat_eq: (actual, expected) =>
    when(
      valuesOf(actual)
        .filter((one) => typeof one === 'string')
        .join('') === expected,
      'joins to another text',
    ),
  all_equal: (actual) =>
    when(
      valuesOf(actual).every((one) => isDeepStrictEqual(one, valuesOf(actual)[0])),
      'not all equal',
    ),
  all_deep_eq: (actual) =>
    when(
      valuesOf(actual).every((one) => isDeepStrictEqual(one, valuesOf(actual)[0])),
      'not all equal',
    ),
  all_eq: (actual, expected) =>
    when(
      valuesOf(actual).every((one) => isDeepStrictEqual(one, expected)),
      'not all equal to it',
    ),
  all_non_empty: (actual) => when(valuesOf(actual).every(nonEmpty), 'one of them is empty'),
  set_eq: (actual, expected) =>
    when(isDeepStrictEqual(sorted(valuesOf(actual)), sorted(list(expected))), 'another set'),
  subset_of: (actual, expected) =>
    when(
      valuesOf(actual).every((one) => list(expected).includes(one)),
      'not a subset',
    ),
  eq_ref: (actual, expected, { at }) => when(isDeepStrictEqual(actual, at(String(expected))), 'not equal to the other'),
  eq_body_length: (actual, _expected, { on, at }) =>
    when(
      textOf(actual) === String(at(on.replace(/\.headers\.content-length$/, '.body_bytes'))),
      'not the length of the body',
    ),
  deep_eq_upstream: (actual, _expected, { on, at }) => {
    const sent = at(on.replace(/\.client\.body$/, '.upstream_answer'));
    return when(isDeepStrictEqual(valuesOf(actual), valuesOf(sent)), 'not what the upstream sent');
  },
};

/** Every operator that the evaluator knows. */
export const OPERATORS: ReadonlySet<string> = new Set([...Object.keys(EACH), ...Object.keys(WHOLE)]);

/** Holds one claim against a value. Throws `UnknownPath` for an operator that is not known. */
export function judgeValue(op: string, actual: unknown, expected: unknown, context: OperatorContext): Verdict {
  if (actual === MISSING) return 'nothing to look at';
  if (actual instanceof Many) {
    if (actual.values.length === 0) return 'no values to look at';
    if (actual.values.includes(MISSING)) return 'a part is missing';
  }
  const whole = Object.hasOwn(WHOLE, op) ? WHOLE[op] : undefined;
  if (whole !== undefined) return whole(actual, expected, context);
  const each = Object.hasOwn(EACH, op) ? EACH[op] : undefined;
  if (each === undefined) throw new UnknownPath(`no operator "${op}"`);
  if (!(actual instanceof Many)) return each(actual, expected, context);
  // A list as expected value may stand for the values of `[*]` as a whole.
  if (op === 'deep_eq' && Array.isArray(expected) && isDeepStrictEqual(actual.values, expected)) return null;
  const failed = actual.values.map((one) => each(one, expected, context)).find((verdict) => verdict !== null);
  return failed ?? null;
}

function valuesOf(value: unknown): readonly unknown[] {
  return value instanceof Many ? value.values : [value];
}

function sorted(values: readonly unknown[]): readonly string[] {
  return values.map((value) => JSON.stringify(value)).toSorted();
}

/** `(?i)` in front stands for the flag. */
function regex(source: string): RegExp {
  return source.startsWith('(?i)') ? new RegExp(source.slice('(?i)'.length), 'i') : new RegExp(source);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return ABSENT;
  }
}
