import { hash as digest } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../core/json.ts';
import type { Checkpointer } from './checkpointer.ts';
import { listChains, liveFile, nodeName, parseChain, segmentFile } from './names.ts';
import { isAlive } from './process-identity.ts';
import { scanSegment, summaryOf, writeIndex } from './summary.ts';

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
  /** Cuts what is torn. To be called when the record of it is on disk: a crash before that leaves all to be found again. */
  readonly finish: () => Promise<void>;
}

export interface RecoverOptions {
  readonly dir: string;
  readonly node: string;
  readonly worker: number;
  /** How many workers there are: the first one also cares for chains of numbers that are no longer used. */
  readonly workers: number;
  readonly checkpointer: Checkpointer;
}

/** A torn end is one batch; of anything longer, this much is hashed. */
const MAX_HASHED = 8 * 1024 * 1024;

/**
 * Finds what dead processes of this node and worker left, and where a torn end must be cut: after the last whole record. A
 * record that follows on damage shows that this was no crash; then nothing is cut, so that what happened stays to be seen.
 */
export async function recover({ dir, node, worker, workers, checkpointer }: RecoverOptions): Promise<Recovered> {
  const recovered: { readonly [key: string]: Json }[] = [];
  const steps: (() => Promise<void>)[] = [];
  let after: ChainEnd | null = null;
  for (const [chain, segments] of await listChains(dir)) {
    const name = parseChain(chain);
    if (name?.node !== nodeName(node)) continue;
    if (name.worker !== worker && !(worker === 0 && name.worker >= workers)) continue;
    const live = await readFile(join(dir, liveFile(chain)), 'utf8').catch(() => null);
    if (live !== null && isAlive(live)) continue;
    let end = await endOf(dir, chain, segments);
    if (live !== null) {
      const found = await examine(dir, chain, segments);
      end = found.end;
      recovered.push(found.facts);
      steps.push(async () => {
        await found.finish();
        if (found.end !== null && !found.damaged) await swear(dir, segments, found.end, checkpointer);
        await rm(join(dir, liveFile(chain)), { force: true });
      });
    }
    if (end !== null && name.worker === worker) after = end;
  }
  return {
    after,
    recovered,
    finish: async () => {
      for (const step of steps) await step();
    },
  };
}

/** The last record; a last segment without any is passed over. */
async function endOf(dir: string, chain: string, segments: readonly number[]): Promise<ChainEnd | null> {
  for (const n of segments.toReversed()) {
    const summary = await summaryOf(dir, chain, n);
    if (summary !== null) return { chain, seq: summary.last, hash: summary.head };
  }
  return null;
}

interface Examined {
  readonly end: ChainEnd | null;
  readonly facts: { readonly [key: string]: Json };
  readonly damaged: boolean;
  readonly finish: () => Promise<void>;
}

async function examine(dir: string, chain: string, segments: readonly number[]): Promise<Examined> {
  const n = segments.at(-1) ?? 1;
  const path = join(dir, segmentFile(chain, n));
  const { summary, rest, damaged } = await scanSegment(path);
  const end = summary === null ? await endOf(dir, chain, segments) : { chain, seq: summary.last, hash: summary.head };
  const from = summary?.bytes ?? 0;
  const cut = rest > 0 && !damaged ? { bytes: rest, sha256: await hashFrom(path, from, rest) } : null;
  return {
    end,
    facts: { chain, segment: n, seq: end?.seq ?? 0, hash: end?.hash ?? null, damaged, cut },
    damaged,
    finish: async () => {
      if (cut !== null) await cutBack(path, from);
      if (summary !== null && !damaged) await writeIndex(dir, chain, n, summary);
    },
  };
}

/** A chain whose process had no time for a last checkpoint gets one, unless an older one knows of more than there is. */
async function swear(
  dir: string,
  segments: readonly number[],
  { chain, seq, hash }: ChainEnd,
  checkpointer: Checkpointer,
): Promise<void> {
  const known = await checkpointer.newest(chain).catch(() => undefined);
  if (known === undefined || (known !== null && known.seq >= seq)) return;
  const first = known ?? (await startOf(dir, chain, segments[0] ?? 1));
  if (first === null) return;
  await checkpointer.issue({ chain, from: first.from, base: first.base, seq, head: hash });
}

async function startOf(
  dir: string,
  chain: string,
  n: number,
): Promise<{ readonly from: number; readonly base: string } | null> {
  const summary = await summaryOf(dir, chain, n);
  return summary?.first === 1 ? { from: 1, base: summary.base } : null;
}

async function hashFrom(path: string, from: number, rest: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(rest, MAX_HASHED));
    await file.read(bytes, 0, bytes.length, from);
    return digest('sha256', bytes, 'hex');
  } finally {
    await file.close();
  }
}

async function cutBack(path: string, to: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.truncate(to);
    await file.sync();
  } finally {
    await file.close();
  }
}
