import type { DirectoryKind } from '../../core/directory.ts';
import type { DirectoryStore, RecordOf, WriteResult } from '../../core/ports/directory-store.ts';
import { assertId, indexOf } from '../directory-record.ts';
import { assertWhole } from '../whole-number.ts';
import type { RedisClient } from './connection.ts';
import type { DirectoryChanges } from './directory-changes.ts';
import { encodeKeyPart } from './keys.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';

type WriteReply = readonly ['w' | 's' | 'c', (string | null)?];

/** `DirectoryStore` in Redis. All of it lies in one slot; each write is one script that compares the version first. */
export function createRedisDirectoryStore({
  client,
  run,
  keys,
  call,
  changes,
}: {
  readonly client: Pick<RedisClient, 'hget'>;
  readonly run: RunScript;
  readonly keys: Keys;
  readonly call: StoreBreaker['call'];
  readonly changes: DirectoryChanges;
}): DirectoryStore {
  const prefix = keys.directory;
  const hashOf = (kind: DirectoryKind): string => `${prefix}${kind}`;

  return {
    get: async (kind, id) => {
      const text = await call(() => client.hget(hashOf(kind), id));
      return text === null ? null : readRecord(kind, text);
    },
    keyBySecret: async (sha256) => {
      const reply = await call(() => run('directory-get', [`${prefix}secrets`, hashOf('key')], [sha256]));
      const [, text] = reply as readonly string[];
      return text === undefined ? null : readRecord('key', text);
    },
    list: async (kind, { after, count, tenant }) => {
      assertWhole(count, 'count');
      if (count === 0) return [];
      const ids = tenant === undefined ? `${hashOf(kind)}:ids` : `${hashOf(kind)}:of:${encodeKeyPart(tenant)}`;
      const start = after === null ? '-' : `(${after}`;
      const flat = (await call(() => run('directory-list', [ids, hashOf(kind)], [start, count]))) as readonly string[];
      return flat.flatMap((text, i) => (i % 2 === 1 ? [readRecord(kind, text)] : []));
    },
    put: async (kind, id, record, expected) => {
      assertWhole(expected, 'version');
      const { tenant, secret, previous } = indexOf(kind, id, record);
      const where = [encodeKeyPart(tenant), secret ?? '-', previous ?? '-'];
      const args = [prefix, kind, id, expected, ...where, JSON.stringify(record)];
      return readWrite(kind, (await call(() => run('directory-put', [hashOf(kind)], args))) as WriteReply);
    },
    remove: async (kind, id, expected) => {
      assertWhole(expected, 'version');
      assertId(id);
      const reply = await call(() => run('directory-remove', [hashOf(kind)], [prefix, kind, id, expected]));
      return readWrite(kind, reply as WriteReply);
    },
    watch: changes.watch,
  };
}

function readWrite<K extends DirectoryKind>(kind: K, [verdict, text]: WriteReply): WriteResult<K> {
  if (verdict === 'c') throw new RangeError('the secret is that of another key');
  const record = text === null || text === undefined ? null : readRecord(kind, text);
  if (verdict === 's') return { kind: 'stale', current: record };
  if (record === null) throw new TypeError('the record is missing in the reply');
  return { kind: 'written', record };
}

/** `<version> <created> <updated> ...`, a line end, JSON. */
function readRecord<K extends DirectoryKind>(kind: K, text: string): RecordOf<K> {
  const end = text.indexOf('\n');
  const [version, createdAt, updatedAt] = text.slice(0, end).split(' ', 3).map(Number);
  const fields = JSON.parse(text.slice(end + 1)) as object;
  return { ...fields, kind, version, createdAt, updatedAt } as unknown as RecordOf<K>;
}
