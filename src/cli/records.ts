import { type AdminClient, type Answer } from './admin-client.ts';
import { formatLimit, parseLimit } from './limit-words.ts';
import type { Cell, Column } from './output.ts';
import type { LimitRule } from '../core/directory.ts';
import { WordsError } from './user-error.ts';

/** A column that shows a field as it is; lists with spaces between. */
export function field(name: string, title: string = name.replaceAll('_', ' ')): Column<Answer> {
  return { title, name, value: (record) => cellOf(record[name]) };
}

/** A column of limits, as `--limit` takes them. */
export function limitsField(name: string): Column<Answer> {
  const value = (record: Answer): Cell =>
    (record[name] as readonly LimitRule[] | undefined)?.map(formatLimit).join(' ') ?? '';
  return { title: name.replaceAll('_', ' '), name, value };
}

function cellOf(value: unknown): Cell {
  if (Array.isArray(value)) return value.join(' ');
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return null;
  return Object.entries(value)
    .map(([key, text]) => `${key}=${String(text)}`)
    .join(' ');
}

/** A limit, or null for `none`: a list that is emptied. */
export const parseLimitOrNone = (text: string): LimitRule | null => (text === 'none' ? null : parseLimit(text));

/** What `--limit` said, as the API has it; undefined where it was not given. */
export function limitsOf(given: readonly (LimitRule | null)[] | undefined): readonly LimitRule[] | undefined {
  return given?.filter((rule) => rule !== null);
}

/** What was given, without what was not. */
export function givenOf(fields: Answer): Answer {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Reads a record, then changes that very version of it; makes it where there is none. */
export async function setRecord(
  client: AdminClient,
  { at, changes, create }: { at: string; changes: Answer; create: { readonly path: string; readonly body: Answer } },
): Promise<Answer> {
  const found = await client.find(at);
  if (found === null) return await client.write('POST', create.path, { body: { ...create.body, ...changes } });
  return await changeRecord(client, at, found, changes);
}

/** Changes the version of a record that was read. */
export async function changeRecord(
  client: AdminClient,
  at: string,
  found: { readonly body: Answer; readonly etag: string | null },
  changes: Answer,
): Promise<Answer> {
  if (Object.keys(changes).length === 0) throw new WordsError('it is there already, and nothing was named to change');
  return await client.write('PATCH', at, { body: changes, etag: found.etag });
}

/** Deletes the version of a record that is there now. */
export async function deleteRecord(client: AdminClient, at: string): Promise<Answer> {
  const { etag } = await client.get(at);
  return await client.write('DELETE', at, { etag });
}
