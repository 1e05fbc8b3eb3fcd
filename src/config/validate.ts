import type { z } from 'zod';
import type { Path, Problem } from './problem.ts';
import { documentSchema } from './schema/document.ts';
import type { ConfigDocument } from './schema/document.ts';
import { didYouMean } from './suggest.ts';
import type { Plain, YamlSource } from './yaml-source.ts';

type Issue = z.core.$ZodIssue;

/** Checks the shape of a document. Every fault is reported, each at its own place. */
export function validateDocument(
  source: YamlSource,
):
  | { readonly ok: true; readonly document: ConfigDocument }
  | { readonly ok: false; readonly problems: readonly Problem[] } {
  const known = new Map<string, readonly string[]>();
  const parse = () =>
    documentSchema.safeParse(source.data, {
      error: (issue) => {
        // Inside a union the path counts from the union: what it knows is then found by the keys alone.
        if (issue.code === 'unrecognized_keys') {
          known.set(knownKey(issue.path ?? [], issue.keys), keysOf(issue.inst));
          known.set(knownKey([], issue.keys), keysOf(issue.inst));
        }
        return undefined;
      },
    });
  let result = parse();
  // A reference is text, whatever it stands for: where a number or a switch is wanted, its text is read as one.
  if (!result.success && coerce(source, result.error.issues)) result = parse();
  if (result.success) return { ok: true, document: result.data };
  const problems = result.error.issues.flatMap((issue) => describe(source, flatten(issue), known));
  return { ok: false, problems };
}

function knownKey(path: readonly PropertyKey[], keys: readonly string[]): string {
  return JSON.stringify([path.map(String), keys]);
}

function keysOf(schema: unknown): readonly string[] {
  const shape = (schema as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def?.shape;
  return shape === undefined ? [] : Object.keys(shape);
}

function coerce(source: YamlSource, issues: readonly Issue[]): boolean {
  let changed = false;
  for (const issue of issues.map(flatten)) {
    const path = issue.path as Path;
    const last = path.at(-1);
    if (issue.code !== 'invalid_type' || last === undefined || !source.substituted(path)) continue;
    const parent = valueAt(source.data, path.slice(0, -1));
    const value = convert(valueAt(source.data, path), issue.expected);
    if (value === undefined || typeof parent !== 'object' || parent === null) continue;
    (parent as { [key: string | number]: Plain })[last] = value;
    changed = true;
  }
  return changed;
}

function convert(value: Plain | undefined, expected: string): Plain | undefined {
  if (typeof value !== 'string') return undefined;
  if (expected === 'boolean') return value === 'true' ? true : value === 'false' ? false : undefined;
  if (expected !== 'number' && expected !== 'int') return undefined;
  return /^-?\d{1,15}(\.\d{1,9})?$/.test(value) ? Number(value) : undefined;
}

/** Of the branches of a union, the one that the value was meant for: the one that got furthest. */
function flatten(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const branch = issue.errors.find((errors) =>
    errors.some((error) => error.path.length > 0 || error.code !== 'invalid_type'),
  );
  const first = branch?.find((error) => error.code === 'unrecognized_keys') ?? branch?.[0];
  if (first !== undefined) return flatten({ ...first, path: [...issue.path, ...first.path] });
  const expected = issue.errors.flatMap((errors) =>
    errors.map((error) => ('expected' in error ? error.expected : '?')),
  );
  return { ...issue, code: 'invalid_type', expected: expected.join(' or ') } as unknown as Issue;
}

function describe(source: YamlSource, issue: Issue, known: ReadonlyMap<string, readonly string[]>): readonly Problem[] {
  const path = issue.path as Path;
  switch (issue.code) {
    case 'unrecognized_keys': {
      const keys = known.get(knownKey(path, issue.keys)) ?? known.get(knownKey([], issue.keys)) ?? [];
      return issue.keys.map((key) => source.atKey([...path, key], unknownKey(key, keys)));
    }
    case 'invalid_type':
      return [
        issue.message.startsWith('Invalid input')
          ? typeProblem(source, path, issue.expected)
          : source.at(path, issue.message),
      ];
    case 'invalid_value': {
      const allowed = issue.values.map(String);
      const value = valueAt(source.data, path);
      if (value === undefined) return [typeProblem(source, path, allowed.join(' or '))];
      const near = typeof value === 'string' ? didYouMean(value, allowed) : '';
      return [source.at(path, `must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}.${near}`)];
    }
    case 'too_small':
      return [
        source.at(
          path,
          issue.message.startsWith('Too small') ? bound(issue.origin, 'at least', issue.minimum) : issue.message,
        ),
      ];
    case 'too_big':
      return [
        source.at(
          path,
          issue.message.startsWith('Too big') ? bound(issue.origin, 'at most', issue.maximum) : issue.message,
        ),
      ];
    case 'invalid_key': {
      const inner = issue.issues[0];
      return [source.atKey(path, inner === undefined ? 'is not a fit key' : `the key ${inner.message}`)];
    }
    case 'custom':
    case 'invalid_format':
    case 'invalid_element':
    case 'invalid_union':
    case 'not_multiple_of':
      break;
  }
  return [source.at(path, issue.message)];
}

function bound(origin: string, direction: string, limit: number | bigint): string {
  if (origin === 'array') return `must have ${direction} ${limit} entries`;
  if (origin === 'string') return `must have ${direction} ${limit} characters`;
  return `must be ${direction} ${limit}`;
}

function unknownKey(key: string, keys: readonly string[]): string {
  const near = didYouMean(key, keys);
  return `"${key.slice(0, 60)}" is not known here.${near === '' ? ` Known: ${keys.join(', ')}.` : near}`;
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'a map of keys',
  record: 'a map of keys',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

function typeProblem(source: YamlSource, path: Path, expected: string): Problem {
  const wanted = expected
    .split(' or ')
    .map((word) => NAMES[word] ?? word)
    .join(' or ');
  const value = valueAt(source.data, path);
  const last = path.at(-1);
  if (value === undefined)
    return source.at(path, last === undefined ? `must be ${wanted}` : `"${last}" is missing: it must be ${wanted}`);
  const quotes =
    expected.includes('string') && (typeof value === 'number' || typeof value === 'boolean')
      ? '; put it in quotes'
      : '';
  return source.at(path, `must be ${wanted}, not ${kind(value)}${quotes}`);
}

function kind(value: Plain): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map of keys';
  return typeof value === 'string' ? 'a text' : `${value}`;
}

function valueAt(data: Plain, path: Path): Plain | undefined {
  let value: Plain | undefined = data;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as { [key: string | number]: Plain })[part];
  }
  return value;
}
