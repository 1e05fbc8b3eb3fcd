import { type DirectoryKind, type DirectoryRecord, recordId } from '../core/directory.ts';
import { GATEWAY_TENANT } from '../core/gateway-tenant.ts';

/** What a store must know of a record to find it again. */
export interface RecordIndex {
  readonly tenant: string;
  /** Hashes of the secret and the one before, where there are any. */
  readonly secret: string | null;
  readonly previous: string | null;
}

const MAX_ID_BYTES = 1024;

/** Throws `RangeError` for an id that a store could not keep as it is, or put in order. */
export function assertId(id: string): void {
  const bytes = Buffer.from(id);
  if (id === '' || bytes.length > MAX_ID_BYTES || bytes.toString() !== id) throw new RangeError(`no id: ${id}`);
}

/** Checks that the record is the one that `id` names, and says where it belongs. Throws `RangeError`. */
export function indexOf(kind: DirectoryKind, id: string, fields: object): RecordIndex {
  const record = { ...fields, kind } as DirectoryRecord;
  assertId(id);
  // The first slash ends the tenant's name.
  if (record.kind === 'line' && record.tenant.includes('/'))
    throw new RangeError(`a tenant with lines has no slash in its name: ${record.tenant}`);
  const own = recordId(record);
  if (own !== id) throw new RangeError(`a ${kind} of the name ${own} cannot be kept as ${id}`);
  switch (record.kind) {
    case 'tenant':
      return { tenant: record.name, secret: null, previous: null };
    case 'key':
      return { tenant: record.tenant, secret: record.sha256, previous: record.previous?.sha256 ?? null };
    case 'line':
    case 'budget':
      return { tenant: record.tenant, secret: null, previous: null };
    case 'deployment':
    case 'rollout':
      return { tenant: GATEWAY_TENANT, secret: null, previous: null };
    default:
      return record satisfies never;
  }
}
