import type { z } from 'zod';

type Kind = 'number' | 'boolean';

const kinds = new WeakMap<z.ZodObject, ReadonlyMap<string, Kind>>();

/** Query parameters are text on the wire: those that the schema wants as a number or a truth become one, where they can. */
export function typedQuery(schema: z.ZodObject | null, query: unknown): unknown {
  const read: Record<string, unknown> = { ...(query as object | null) };
  if (schema === null) return read;
  for (const [name, kind] of kindsOf(schema)) {
    const value = read[name];
    if (kind === 'number' && typeof value === 'string' && /^\d{1,9}$/.test(value)) read[name] = Number(value);
    if (kind === 'boolean' && (value === 'true' || value === 'false')) read[name] = value === 'true';
  }
  return read;
}

function kindsOf(schema: z.ZodObject): ReadonlyMap<string, Kind> {
  const known = kinds.get(schema);
  if (known !== undefined) return known;
  const found = new Map<string, Kind>();
  for (const [name, field] of Object.entries(schema.shape)) {
    const kind = kindOf(field as z.ZodType);
    if (kind !== null) found.set(name, kind);
  }
  kinds.set(schema, found);
  return found;
}

/** Looks through defaults and what may be left out. */
function kindOf(field: z.ZodType): Kind | null {
  const { type } = field.def;
  if (type === 'number' || type === 'boolean') return type;
  const inner = (field.def as { readonly innerType?: z.ZodType }).innerType;
  return inner === undefined ? null : kindOf(inner);
}
