import { createPublicKey } from 'node:crypto';
import { hostname } from 'node:os';
import { createAuditChain } from '../audit/audit-chain.ts';
import { createAuditPrompt } from '../audit/audit-prompt.ts';
import type { AuditPrompt } from '../audit/audit-prompt.ts';
import { createCheckpointer } from '../audit/checkpointer.ts';
import { createFolderCheckpointStore } from '../audit/folder-checkpoint-store.ts';
import { openSigningKey } from '../audit/signing-key.ts';
import type { AuditLog, CheckpointStore } from '../core/ports/audit.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Audit } from '../core/audit-settings.ts';
import type { Redis, Snapshot } from '../core/snapshot.ts';
import { createRedisCheckpointStore } from '../store/redis/checkpoint-store.ts';
import { StartupError } from './startup-error.ts';

export interface OpenAuditOptions {
  /** Number of this process among `server.workers`. */
  readonly worker: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  /** The Redis in use, for checkpoints; null for none. */
  readonly redis: Redis | null;
}

/** The log of one process, and what it keeps of prompts. */
export type OpenedAudit = AuditLog & {
  /** What goes into the facts of a request's record for its texts; null when nothing does. Costs nothing by the rule `none`. */
  readonly prompt: AuditPrompt;
};

/** Takes entries and keeps none: where no audit is configured. */
export const silentAudit: OpenedAudit = {
  append: () => {},
  state: () => 'ok',
  kept: async () => true,
  flush: async () => 0,
  close: async () => {},
  prompt: () => null,
};

/**
 * Opens the log in the background: it is `ok` at once and `failing` when the disk refuses. Throws `StartupError` for a signing
 * key that cannot be used, and when there is no place for checkpoints.
 */
export function openAudit(snapshot: Snapshot, { worker, log, metrics, redis }: OpenAuditOptions): OpenedAudit {
  const { audit, server } = snapshot;
  if (audit === null) return silentAudit;
  const key = signingKey(audit);
  const stores = checkpointStores(audit, redis, log);
  const chain = createAuditChain({
    ...audit,
    node: hostname(),
    worker,
    workers: server.workers,
    checkpointer: createCheckpointer({
      stores,
      key,
      publicKey: createPublicKey(key),
      clock: systemClock,
      log,
      metrics,
    }),
    clock: systemClock,
    log,
    metrics,
  });
  return {
    append: (entry) => chain.append(entry),
    state: () => chain.state(),
    kept: (deadlineMs) => chain.kept(deadlineMs),
    flush: (deadlineMs) => chain.flush(deadlineMs),
    close: async () => {
      await chain.close();
      await Promise.all(stores.map((store) => store.close()));
    },
    prompt: createAuditPrompt({ rule: audit.prompts, key: audit.promptKey }),
  };
}

/** Where the configuration keeps checkpoints. Throws `StartupError` when that is nowhere. */
export function checkpointStores({ checkpoint }: Audit, redis: Redis | null, log: Log): readonly CheckpointStore[] {
  const stores: CheckpointStore[] = [];
  if (checkpoint.dir !== null) stores.push(createFolderCheckpointStore({ dir: checkpoint.dir }));
  if (checkpoint.redis && redis !== null)
    stores.push(createRedisCheckpointStore({ redis, onError: (error) => log.debug('checkpoint store', { error }) }));
  if (stores.length === 0)
    throw new StartupError('audit.checkpoint.redis needs a Redis: set redis.url, or audit.checkpoint.dir');
  return stores;
}

function signingKey({ keyFile }: Audit) {
  try {
    return openSigningKey(keyFile);
  } catch (cause) {
    throw new StartupError(`audit.key_file cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
