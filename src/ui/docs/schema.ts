import { nameOf } from './document.ts';
import type { ApiDocument, Schema } from './document.ts';

type Schemas = ApiDocument['components']['schemas'];

/** One field in words. `path`: `limits[].window.kind`; the whole is ''. */
export interface Field {
  readonly path: string;
  /** `text or null` */
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** What a value must keep to, and its default: `1 to 128 characters`. */
  readonly rules: readonly string[];
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
  array: 'list',
  null: 'null',
};
const DEEPEST = 6;
/** A pattern that is longer says nothing to people. */
const LONGEST_PATTERN = 60;

/** What a schema holds, each field on a line of its own, down to the last one. */
export function fieldsOf(schema: Schema, schemas: Schemas): readonly Field[] {
  return within(schema, '', schemas, 0);
}

function within(schema: Schema, path: string, schemas: Schemas, depth: number): readonly Field[] {
  if (depth > DEEPEST) return [];
  const found: Field[] = [];
  const parts = partsOf(schema, schemas);
  // A field that only some forms of a thing have is none that must be there.
  const forms = parts.filter((part) => part.properties !== undefined);
  const needed = (name: string): boolean => forms.every((part) => part.required?.includes(name) === true);
  for (const part of parts) {
    for (const [name, each] of Object.entries(part.properties ?? {})) {
      const at = path === '' ? name : `${path}.${name}`;
      found.push(
        { path: at, ...wordsOf(each, schemas), required: needed(name) },
        ...within(each, at, schemas, depth + 1),
      );
    }
    if (part.items !== undefined) found.push(...within(part.items, `${path}[]`, schemas, depth + 1));
    if (typeof part.additionalProperties === 'object')
      found.push(...within(part.additionalProperties, `${path}.*`, schemas, depth + 1));
  }
  return merged(found);
}

/** Fields that stand in several forms of one thing are told once: one of these forms may do without. */
function merged(fields: readonly Field[]): readonly Field[] {
  const byPath = new Map<string, Field>();
  for (const field of fields) {
    const before = byPath.get(field.path);
    if (before === undefined) byPath.set(field.path, field);
    else
      byPath.set(field.path, {
        ...before,
        type: either([before.type, field.type]),
        required: before.required && field.required,
        description: [...new Set([before.description, field.description])].filter(Boolean).join(' '),
        rules: [...new Set([...before.rules, ...field.rules])],
      });
  }
  return [...byPath.values()];
}

/** What a value is, in words. */
export function wordsOf(schema: Schema, schemas: Schemas): Omit<Field, 'path' | 'required'> {
  const parts = partsOf(schema, schemas);
  const first = parts.find((part) => part.type !== 'null') ?? schema;
  return {
    type: either(parts.flatMap((part) => typesOf(part, schemas))),
    description: schema.description ?? first.description ?? '',
    rules: [
      ...parts.flatMap(rulesOf),
      ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
    ],
  };
}

/** References followed, and choices taken apart. */
function partsOf(schema: Schema, schemas: Schemas, above: readonly string[] = []): readonly Schema[] {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    const found = schemas[name];
    return found === undefined || above.includes(name) ? [] : partsOf(found, schemas, [...above, name]);
  }
  const choices = schema.anyOf ?? schema.oneOf;
  return choices === undefined ? [schema] : choices.flatMap((each) => partsOf(each, schemas, above));
}

function typesOf(schema: Schema, schemas: Schemas): readonly string[] {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each));
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.length === 0) return ['anything'];
  return types.map((type) => {
    if (type === 'array' && schema.items !== undefined)
      return `list of ${either(partsOf(schema.items, schemas).flatMap((part) => typesOf(part, schemas)))}`;
    if (type === 'string' && schema.format === 'date') return 'date';
    if (type === 'string' && schema.format === 'date-time') return 'time';
    return WORDS[type] ?? type;
  });
}

function rulesOf(schema: Schema): readonly string[] {
  const { minimum, maximum, minLength, maxLength, maxItems, pattern, format } = schema;
  const rules = [bounds(minimum, maximum, ''), bounds(minLength, maxLength, ' characters')];
  if (maxItems !== undefined) rules.push(`at most ${maxItems}`);
  if (format === 'date') rules.push('such as 2026-11-30');
  else if (format === 'date-time') rules.push('UTC, such as 2026-11-30T10:00:00Z');
  else if (pattern !== undefined && pattern.length <= LONGEST_PATTERN) rules.push(`matches ${pattern}`);
  return rules.filter((rule) => rule !== '');
}

function bounds(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`;
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`;
}

const either = (types: readonly string[]): string => [...new Set(types)].join(' or ');

/**
 * A value to begin with. `all`: every field, else only those that must be there. Texts that nothing is known of are empty,
 * so that none is sent by mistake.
 */
export function exampleOf(schema: Schema, schemas: Schemas, all: boolean, depth = 0): unknown {
  if (schema.default !== undefined) return schema.default;
  const part = partsOf(schema, schemas)[0];
  if (part === undefined || depth > DEEPEST) return null;
  if (part.const !== undefined) return part.const;
  if (part.enum !== undefined) return part.enum[0];
  const type = typeof part.type === 'string' ? part.type : part.type?.[0];
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(part.properties ?? {})
          .filter(([name]) => all || part.required?.includes(name) === true)
          .map(([name, each]) => [name, exampleOf(each, schemas, all, depth + 1)]),
      );
    case 'array':
      return [];
    case 'integer':
    case 'number':
      return part.minimum ?? 0;
    case 'boolean':
      return false;
    case 'string':
      return '';
    default:
      return null;
  }
}
