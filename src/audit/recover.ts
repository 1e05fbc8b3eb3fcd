import { hash as digest } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../core/json.ts';
import type { Checkpointer } from './checkpointer.ts';
import { listChains, liveFile, nodeName, parseChain, segmentFile } from './names.ts';
import { isAlive } from './process-identity.ts';
import { scanSegment, summaryOf, writeIndex } from './summary.ts';
import type { SegmentSummary } from './summary.ts';

/** Where a chain ended. */
export interface ChainEnd {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** What a new chain says of those before it. */
export interface Recovered {
  /** The chain that the new one follows; null for a worker's first. */
  readonly after: ChainEnd | null;
  /** For the first record: one for each chain whose process did not end in good order. */
  readonly recovered: readonly { readonly [key: string]: Json }[];
}

export interface RecoverOptions {
  readonly dir: string;
  readonly node: string;
  readonly worker: number;
  /** How many workers there are: the first one also cares for chains of numbers that are no longer used. */
  readonly workers: number;
  readonly checkpointer: Checkpointer;
}

/**
 * Mends what dead processes of this node and worker left: cuts a torn end back to the last whole record. A record that
 * follows on damage shows that this was no crash; then nothing is cut, so that what happened stays to be seen.
 */
export async function recover({ dir, node, worker, workers, checkpointer }: RecoverOptions): Promise<Recovered> {
  const recovered: { readonly [key: string]: Json }[] = [];
  let after: ChainEnd | null = null;
  for (const [chain, segments] of await listChains(dir)) {
    const name = parseChain(chain);
    if (name?.node !== nodeName(node)) continue;
    if (name.worker !== worker && !(worker === 0 && name.worker >= workers)) continue;
    const live = await readFile(join(dir, liveFile(chain)), 'utf8').catch(() => null);
    if (live !== null && isAlive(live)) continue;
    const end = live === null ? await endOf(dir, chain, segments) : await mend({ dir, chain, segments, checkpointer, recovered });
    if (live !== null) await rm(join(dir, liveFile(chain)), { force: true });
    if (end !== null && name.worker === worker) after = end;
  }
  return { after, recovered };
}

/** The last record; a last segment without any is passed over. */
async function endOf(dir: string, chain: string, segments: readonly number[]): Promise<ChainEnd | null> {
  for (const n of segments.toReversed()) {
    const summary = await summaryOf(dir, chain, n);
    if (summary !== null) return { chain, seq: summary.last, hash: summary.head };
  }
  return null;
}

async function mend({
  dir,
  chain,
  segments,
  checkpointer,
  recovered,
}: {
  readonly dir: string;
  readonly chain: string;
  readonly segments: readonly number[];
  readonly checkpointer: Checkpointer;
  readonly recovered: { readonly [key: string]: Json }[];
}): Promise<ChainEnd | null> {
  const n = segments.at(-1) ?? 1;
  const path = join(dir, segmentFile(chain, n));
  const { summary, rest, damaged } = await scanSegment(path);
  const cut = rest > 0 && !damaged ? await cutBack(path, summary?.bytes ?? 0) : null;
  const end = summary === null ? await endOf(dir, chain, segments) : { chain, seq: summary.last, hash: summary.head };
  recovered.push({ chain, segment: n, seq: end?.seq ?? 0, hash: end?.hash ?? null, damaged, cut });
  if (summary !== null && !damaged) {
    await writeIndex(dir, chain, n, summary);
    await swear(dir, chain, segments, summary, checkpointer);
  }
  return end;
}

/** A chain whose process had no time for a last checkpoint gets one, unless an older one knows of more than there is. */
async function swear(
  dir: string,
  chain: string,
  segments: readonly number[],
  summary: SegmentSummary,
  checkpointer: Checkpointer,
): Promise<void> {
  const known = await checkpointer.newest(chain).catch(() => undefined);
  if (known === undefined || (known !== null && known.seq >= summary.last)) return;
  const first = known ?? (await startOf(dir, chain, segments[0] ?? 1));
  if (first !== null) await checkpointer.issue({ chain, from: first.from, base: first.base, seq: summary.last, head: summary.head });
}

async function startOf(dir: string, chain: string, n: number): Promise<{ readonly from: number; readonly base: string } | null> {
  const summary = await summaryOf(dir, chain, n);
  return summary?.first === 1 ? { from: 1, base: summary.base } : null;
}

/** Gives the size and the hash of what is cut, for the record of it. */
async function cutBack(path: string, to: number): Promise<{ readonly [key: string]: Json }> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const kept = Math.min(size - to, MAX_HASHED);
    const bytes = Buffer.alloc(kept);
    await file.read(bytes, 0, kept, to);
    await file.truncate(to);
    await file.sync();
    return { bytes: size - to, sha256: digest('sha256', bytes, 'hex') };
  } finally {
    await file.close();
  }
}

/** A torn end is one batch; of anything longer, this much is hashed. */
const MAX_HASHED = 8 * 1024 * 1024;
