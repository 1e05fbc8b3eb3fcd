import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { decryptPrompt } from '../audit/audit-prompt.ts';
import { exportAudit } from '../audit/export-audit.ts';
import type { ExportOptions } from '../audit/export-audit.ts';
import { readRecords } from '../audit/read-records.ts';
import type { FoundRecord, RecordFilter } from '../audit/read-records.ts';
import { readPublicKey } from '../audit/signing-key.ts';
import { verifyAudit } from '../audit/verify-audit.ts';
import type { AuditReport } from '../audit/verify-audit.ts';
import type { Json } from '../core/json.ts';
import { type Audit, NO_AUDIT } from '../core/audit-settings.ts';
import { silentLog } from '../telemetry/silent.ts';
import { load } from './load.ts';
import { localRedis } from './local-redis.ts';
import { NO_REDIS, redisOf } from './open-reading.ts';
import { checkpointStores } from './open-audit.ts';
import { StartupError } from './startup-error.ts';

/** Records that `find` gives at most. */
const MOST_FOUND = 1000;

/** The audit log of a configuration, for reading: in use or not, on this machine or from a copy. */
export interface AuditReader {
  readonly verify: () => Promise<AuditReport>;
  /** Gives the records written and the bytes that were no record. */
  readonly export: (
    filter: RecordFilter,
    format: ExportOptions['format'],
    to: Writable,
  ) => Promise<{ readonly records: number; readonly unreadable: number }>;
  readonly find: (filter: RecordFilter) => Promise<readonly FoundRecord[]>;
  /** Texts of an encrypted prompt. Throws `StartupError` without the key. */
  readonly decrypt: (sealed: Json) => string;
}

/**
 * Reads the configuration at `path`. `publicKeys`: files of all keys that signed what is held; by default the one beside
 * `audit.key_file`. `stateDir`: of a running `tokenlat up`, whose Redis may hold checkpoints. Throws `ConfigError`, and `StartupError` when no audit is configured.
 */
export function readAudit(path: string, publicKeys: readonly string[], stateDir = '.tokenlat'): AuditReader {
  const { snapshot } = load(path, { ownRedis: true });
  const { audit } = snapshot;
  if (audit === null) throw new StartupError(NO_AUDIT);
  return {
    verify: async () => {
      const keys = (publicKeys.length > 0 ? publicKeys : [keyBeside(audit)]).map(readKey);
      const redis = snapshot.redis ?? localRedis() ?? redisOf(stateDir);
      if (audit.checkpoint.redis && redis === null) throw new StartupError(NO_REDIS);
      const stores = checkpointStores(audit, redis, silentLog);
      try {
        return await verifyAudit({ dir: audit.dir, checkpoints: stores, publicKeys: keys });
      } finally {
        await Promise.all(stores.map((store) => store.close()));
      }
    },
    export: async (filter, format, to) => {
      let unreadable = 0;
      const onUnreadable = (_: string, bytes: number): void => void (unreadable += bytes);
      return { records: await exportAudit({ dir: audit.dir, filter, format, to, onUnreadable }), unreadable };
    },
    find: async (filter) => {
      const found: FoundRecord[] = [];
      for await (const records of readRecords(audit.dir, filter, () => {})) {
        found.push(...records);
        if (found.length >= MOST_FOUND) break;
      }
      return found.slice(0, MOST_FOUND);
    },
    decrypt: (sealed) => {
      if (audit.promptKey === null) throw new StartupError('reading prompts needs audit.prompt_key');
      return decryptPrompt(sealed, audit.promptKey);
    },
  };
}

function keyBeside({ keyFile }: Audit): string {
  return existsSync(`${keyFile}.pub`) ? `${keyFile}.pub` : keyFile;
}

function readKey(file: string) {
  try {
    return readPublicKey(file);
  } catch (cause) {
    throw new StartupError(`the public key cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
