import { type DirectoryKind, recordId } from '../../core/directory.ts';
import type { RecordOf } from '../../core/ports/directory-store.ts';
import { AdminError } from '../http/admin-error.ts';
import type { AdminRequest } from '../route.ts';
import { pageOf, readCursor } from './cursor.ts';

type Asked = AdminRequest<unknown, unknown, unknown>;

/** A record without what the store sets itself. */
export type Fresh<K extends DirectoryKind> = Omit<RecordOf<K>, 'kind' | 'version' | 'createdAt' | 'updatedAt'>;

/** Null: of no tenant. */
function tenantOf(record: RecordOf<DirectoryKind>): string | null {
  if (record.kind === 'deployment' || record.kind === 'rollout') return null;
  return record.kind === 'tenant' ? record.name : record.tenant;
}

/** The record, or a 404: the same for one that is not there and for one of another tenant. */
export async function loadRecord<K extends DirectoryKind>(request: Asked, kind: K, id: string): Promise<RecordOf<K>> {
  const record = await request.deps.directory.get(kind, id);
  if (record === null || (request.tenant !== null && tenantOf(record) !== request.tenant))
    throw new AdminError('not_found', `There is no such ${kind}.`);
  return record;
}

/** The record with its `If-Match` checked. */
export async function loadForWrite<K extends DirectoryKind>(request: Asked, kind: K, id: string): Promise<RecordOf<K>> {
  const record = await loadRecord(request, kind, id);
  checkVersion(request, record.version);
  return record;
}

/** A 412 when `If-Match` names other versions. */
export function checkVersion({ ifMatch }: Asked, version: number): void {
  if (ifMatch !== null && ifMatch !== 'any' && !ifMatch.includes(version)) throw stale(version);
}

export async function createRecord<K extends DirectoryKind>(
  request: Asked,
  kind: K,
  id: string,
  record: Fresh<K>,
): Promise<RecordOf<K>> {
  const result = await request.deps.directory.put(kind, id, record, 0);
  if (result.kind === 'written') return result.record;
  throw new AdminError('already_exists', `There is such a ${kind} already.`);
}

/** Writes over the version that was loaded; a 412 when somebody else was quicker. */
export async function updateRecord<K extends DirectoryKind>(
  request: Asked,
  loaded: RecordOf<K>,
  changes: Partial<Fresh<K>>,
): Promise<RecordOf<K>> {
  const { kind, version, createdAt: _first, updatedAt: _last, ...fields } = loaded;
  const record = { ...fields, ...changes } as unknown as Fresh<K>;
  const result = await request.deps.directory.put<K>(kind, recordId(loaded), record, version);
  if (result.kind === 'written') return result.record;
  throw stale(result.current?.version ?? null);
}

export async function removeRecord<K extends DirectoryKind>(request: Asked, loaded: RecordOf<K>): Promise<void> {
  const result = await request.deps.directory.remove(loaded.kind, recordId(loaded), loaded.version);
  if (result.kind === 'stale' && result.current !== null) throw stale(result.current.version);
}

/** One page in order of id. `show` gets all of it at once. */
export async function listRecords<K extends DirectoryKind>(
  request: AdminRequest<unknown, { readonly cursor?: string | undefined; readonly limit: number }, unknown>,
  kind: K,
  tenant: string | null,
  show: (records: readonly RecordOf<K>[]) => readonly unknown[] | Promise<readonly unknown[]>,
): Promise<{ readonly body: unknown }> {
  const { cursor, limit } = request.query;
  const found = await request.deps.directory.list(kind, {
    after: readCursor(cursor),
    count: limit + 1,
    ...(tenant === null ? {} : { tenant }),
  });
  const page = pageOf(found, limit, recordId);
  // A second fence behind the store's own filter.
  const seen = page.items.filter((record) => tenant === null || tenantOf(record) === tenant);
  return { body: { object: 'list', data: await show(seen), next_cursor: page.next_cursor } };
}

/** A 400 when a line is named that the tenant does not have. */
export async function requireLine(request: Asked, tenant: string, line: string | null | undefined): Promise<void> {
  if (line === null || line === undefined) return;
  if ((await request.deps.directory.get('line', `${tenant}/${line}`)) !== null) return;
  throw new AdminError('invalid_value', 'business_line is not a line of this tenant.', { param: 'business_line' });
}

/** A 412: somebody else was quicker. */
export function stale(version: number | null): AdminError {
  return new AdminError('precondition_failed', 'Somebody else has changed it in between: read it again.', {
    param: 'If-Match',
    headers: version === null ? {} : { etag: `"${version}"` },
  });
}
