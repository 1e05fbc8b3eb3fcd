import { AdminError } from '../http/admin-error.ts';

/** The last entry of a page as an opaque word. It says where to go on, never what may be seen: that the caller decides. */
export function makeCursor(after: string): string {
  return Buffer.from(after, 'utf8').toString('base64url');
}

/** Throws a 400 for what we did not make. */
export function readCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const bytes = Buffer.from(cursor, 'base64url');
  const after = bytes.toString('utf8');
  if (after === '' || makeCursor(after) !== cursor)
    throw new AdminError('invalid_value', 'cursor must be one from an earlier answer.', { param: 'cursor' });
  return after;
}

/** Cuts what was read, one more than asked for, to a page. */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  idOf: (item: T) => string,
): { readonly items: readonly T[]; readonly next_cursor: string | null } {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: found.length > limit && last !== undefined ? makeCursor(idOf(last)) : null };
}
