import type { KeyObject } from 'node:crypto';
import type { CheckpointStore } from '../core/ports/audit.ts';
import { openCheckpoint } from './checkpoint.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Findings } from './findings.ts';

/** Every chain that any store knows of. */
export async function swornChains(stores: readonly CheckpointStore[]): Promise<ReadonlySet<string>> {
  const lists = await Promise.all(stores.map((store) => store.chains()));
  return new Set(lists.flat());
}

/** The valid checkpoints of a chain over all stores, by `seq`, then `from`. The rest are findings, where these are wanted. */
export async function swornOf(
  chain: string,
  stores: readonly CheckpointStore[],
  publicKeys: readonly KeyObject[],
  findings: Findings | null,
): Promise<readonly Checkpoint[]> {
  const valid: Checkpoint[] = [];
  for (const store of stores) {
    const seen = new Set<string>();
    for (const text of await store.list(chain)) {
      if (seen.has(text)) continue;
      seen.add(text);
      const opened = openCheckpoint(text, publicKeys);
      if ('fault' in opened) {
        findings?.fault('forged_checkpoint', `a checkpoint in the ${store.name} store ${opened.fault}`, { chain });
      } else if (opened.checkpoint.chain === chain) {
        valid.push(opened.checkpoint);
      } else {
        findings?.fault(
          'forged_checkpoint',
          `the ${store.name} store holds a checkpoint of another chain under this name`,
          { chain },
        );
      }
    }
  }
  return valid.toSorted((a, b) => a.seq - b.seq || a.from - b.from);
}
