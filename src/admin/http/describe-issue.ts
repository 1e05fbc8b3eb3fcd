import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/** What is wrong with a field, in words of ours and without its value. `missing`: it is not there at all. */
export function describeIssue(issue: Issue, body: unknown): { readonly message: string; readonly missing: boolean } {
  const missing = issue.path.length > 0 && valueAt(body, issue.path) === undefined;
  return { missing, message: missing ? `This is missing: ${sentence(issue)}` : upper(sentence(issue)) };
}

function sentence(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return own(issue) ?? `it must be ${KINDS[issue.expected] ?? issue.expected}.`;
    case 'invalid_value':
      return (
        own(issue) ?? `it must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}.`
      );
    case 'too_small':
      return own(issue) ?? bound(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return own(issue) ?? bound(issue.origin, 'at most', issue.maximum);
    case 'invalid_key':
      return issue.issues[0] === undefined ? 'its name is not fit.' : `its name ${issue.issues[0].message}.`;
    case 'invalid_union':
      return own(issue) ?? 'it is none of the forms that are known here.';
    case 'invalid_format':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'custom':
      return own(issue) ?? 'it is not well-formed.';
    default:
      return issue satisfies never;
  }
}

/** The message of a schema of ours; the library's own begin with a capital letter. */
function own({ message }: Issue): string | null {
  return /^[A-Z]/.test(message) ? null : `it ${message}.`;
}

function bound(origin: string, direction: string, limit: number | bigint): string {
  const unit = origin === 'array' ? ' entries' : origin === 'string' ? ' characters' : '';
  return `it must ${unit === '' ? 'be' : 'have'} ${direction} ${limit}${unit}.`;
}

const upper = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Readonly<Record<PropertyKey, unknown>>)[part];
  }
  return found;
}
