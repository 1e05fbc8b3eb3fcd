import { newestEpoch } from '../audit/newest-epoch.ts';
import { watchState, type WatchedState } from '../control/state-loss/watch-state.ts';
import type { AuditLog } from '../core/ports/audit.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { KnownEpoch, StateKept } from '../core/ports/epoch-store.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Stores } from '../store/stores.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';

export interface WatchStoreOptions {
  readonly config: Snapshot;
  readonly stores: Pick<Stores, 'epochs' | 'durability'>;
  readonly audit: AuditLog;
  /** One process of a machine records what happens to the store. */
  readonly recording: boolean;
  readonly log: Log;
  readonly metrics: PromMetrics;
}

export interface WatchedStore extends WatchedState {
  readonly kept: () => StateKept;
}

/** Watches whether the store holds what it held; what was known before a restart comes from the audit. */
export function watchStore({ config, stores, audit, recording, log, metrics }: WatchStoreOptions): WatchedStore {
  let keepsNothing = false;
  const watched = watchState({
    epochs: stores.epochs,
    remembered: config.audit === null ? Promise.resolve(null) : remember(config.audit.dir, log),
    audit: recording ? audit : null,
    clock: systemClock,
    log,
    metrics,
    show: metrics.stateLost,
  });
  return {
    ...watched,
    async ready(deadlineMs) {
      await watched.ready(deadlineMs);
      const report = await stores.durability().catch(() => null);
      keepsNothing = report?.durability === 'none';
    },
    kept: () => (watched.loss() === null ? 'kept' : keepsNothing ? 'expected' : 'lost'),
  };
}

async function remember(dir: string, log: Log): Promise<KnownEpoch | null> {
  try {
    return await newestEpoch(dir);
  } catch (error) {
    log.warn('what the audit knows of the store could not be read', {
      error: error instanceof Error ? error : undefined,
    });
    return null;
  }
}
