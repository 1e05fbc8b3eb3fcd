import type { KeyObject } from 'node:crypto';
import type { CheckpointStore } from '../core/ports/audit.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import { checkpointHash, openCheckpoint, signCheckpoint } from './checkpoint.ts';
import type { Checkpoint } from './checkpoint.ts';
import { NO_HASH } from './record.ts';
import { toError } from '../lib/error/to-error.ts';

/** What a checkpoint swears to, without what the checkpointer adds. */
export type Sworn = Omit<Checkpoint, 'count' | 'time' | 'prev'>;

export interface CheckpointerOptions {
  /** At least one. */
  readonly stores: readonly CheckpointStore[];
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

export interface Checkpointer {
  /** How many stores there are. */
  readonly stores: number;
  /** Signs and stores; gives how many stores have it. Never throws. */
  readonly issue: (sworn: Sworn) => Promise<number>;
  /** The newest valid checkpoint of a chain over all stores; null when none has one. Throws when no store can be read. */
  readonly newest: (chain: string) => Promise<Checkpoint | null>;
}

/** Signs checkpoints and hands each to every store. One that a store misses is made up for by the next: each stands for all before. */
export function createCheckpointer({ stores, key, publicKey, clock, log, metrics }: CheckpointerOptions): Checkpointer {
  const last = new Map<string, string>();

  const readAll = async (
    chain: string,
  ): Promise<readonly { readonly text: string; readonly checkpoint: Checkpoint }[]> => {
    const lists = await Promise.allSettled(stores.map((store) => store.list(chain)));
    const read = lists.filter((list) => list.status === 'fulfilled');
    if (read.length === 0) throw new Error('no store of checkpoints can be read');
    return read
      .flatMap((list) => list.value)
      .flatMap((text) => {
        const opened = openCheckpoint(text, [publicKey]);
        return 'fault' in opened || opened.checkpoint.chain !== chain ? [] : [{ text, checkpoint: opened.checkpoint }];
      })
      .toSorted((a, b) => a.checkpoint.seq - b.checkpoint.seq || a.checkpoint.from - b.checkpoint.from);
  };

  const put = async (store: CheckpointStore, chain: string, text: string): Promise<boolean> => {
    try {
      await store.append(chain, text);
      return true;
    } catch (error) {
      metrics.anomaly('audit_checkpoint_failed');
      log.error('an audit checkpoint could not be stored', { store: store.name, chain, error: toError(error) });
      return false;
    }
  };

  return {
    stores: stores.length,
    issue: async (sworn) => {
      let prev = last.get(sworn.chain);
      if (prev === undefined && sworn.seq > 1) {
        // Another process's chain: what it swore last is in the stores.
        prev = await readAll(sworn.chain).then(
          (all) => all.at(-1)?.text,
          () => undefined,
        );
      }
      const text = signCheckpoint(
        {
          ...sworn,
          count: sworn.seq - sworn.from + 1,
          time: clock.time(),
          prev: prev === undefined ? NO_HASH : checkpointHash(prev),
        },
        key,
      );
      const kept = await Promise.all(stores.map((store) => put(store, sworn.chain, text)));
      const count = kept.filter(Boolean).length;
      if (count > 0) last.set(sworn.chain, text);
      return count;
    },
    newest: async (chain) => (await readAll(chain)).at(-1)?.checkpoint ?? null,
  };
}
