import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Checkpointer } from './checkpointer.ts';
import { indexFile, listChains, liveFile, nodeName, parseChain, segmentFile } from './names.ts';
import { isAlive } from './process-identity.ts';
import { summaryOf } from './summary.ts';
import type { SegmentSummary } from './summary.ts';

export interface RetireOptions {
  readonly dir: string;
  readonly node: string;
  readonly worker: number;
  readonly keepMs: number;
  readonly checkpointer: Checkpointer;
  readonly clock: Clock;
  readonly log: Log;
}

/** How far the running chain is on disk; its segment `open` is never taken. */
export interface Running {
  readonly chain: string;
  readonly open: number;
  readonly seq: number;
  readonly head: string;
  /** Gets the new start of the chain, for the checkpoints to come. */
  readonly startAt: (start: { readonly from: number; readonly base: string }) => void;
}

/**
 * Removes segments whose every record is older than `keepMs`, oldest first. A checkpoint that says where the chain starts
 * from now on is stored before a file goes: without one, the files stay. The first worker also cares for chains of processes
 * that are gone.
 */
export async function retire(options: RetireOptions, running: Running): Promise<number> {
  const { dir, worker } = options;
  let removed = 0;
  for (const [chain, segments] of await listChains(dir)) {
    if (chain === running.chain) removed += await retireRunning(options, running, segments);
    else if (worker === 0 && (await isOver(options, chain, segments)))
      removed += await retireDead(options, chain, segments);
  }
  return removed;
}

async function retireRunning(options: RetireOptions, running: Running, segments: readonly number[]): Promise<number> {
  const { old, next } = await split(
    options,
    running.chain,
    segments.filter((n) => n < running.open),
  );
  if (old.length === 0) return 0;
  const start = next === null ? await firstOf(options.dir, running) : { from: next.first, base: next.base };
  if (start === null) return 0;
  const kept = await options.checkpointer.issue({
    chain: running.chain,
    ...start,
    seq: running.seq,
    head: running.head,
  });
  if (kept === 0) return 0;
  running.startAt(start);
  return remove(options, running.chain, old);
}

/** Where the open segment begins. It has no index, and what it holds is still growing: only its start is of use. */
async function firstOf(
  dir: string,
  { chain, open }: Running,
): Promise<{ readonly from: number; readonly base: string } | null> {
  const summary = await summaryOf(dir, chain, open).catch(() => null);
  return summary === null ? null : { from: summary.first, base: summary.base };
}

async function retireDead(options: RetireOptions, chain: string, segments: readonly number[]): Promise<number> {
  const { checkpointer, dir, log } = options;
  const { old, next } = await split(options, chain, segments);
  const last = await lastOf(dir, chain, segments);
  if (old.length === 0 || last === null) return 0;
  const known = await checkpointer.newest(chain).catch(() => undefined);
  if (known === undefined) return 0;
  if (known !== null && known.seq > last.last) {
    log.error('an audit chain is shorter than its checkpoint says: it is kept, old or not', { chain });
    return 0;
  }
  const start = next === null ? { from: last.last + 1, base: last.head } : { from: next.first, base: next.base };
  if ((await checkpointer.issue({ chain, ...start, seq: last.last, head: last.head })) === 0) return 0;
  if (next === null) await rm(join(dir, liveFile(chain)), { force: true });
  return remove(options, chain, old);
}

async function lastOf(dir: string, chain: string, segments: readonly number[]): Promise<SegmentSummary | null> {
  for (const n of segments.toReversed()) {
    const summary = await summaryOf(dir, chain, n);
    if (summary !== null) return summary;
  }
  return null;
}

/** The segments from the first on that are old, and the summary of the one after them. */
async function split(
  { dir, keepMs, clock }: RetireOptions,
  chain: string,
  segments: readonly number[],
): Promise<{ readonly old: readonly number[]; readonly next: SegmentSummary | null }> {
  const old: number[] = [];
  for (const n of segments) {
    const summary = await summaryOf(dir, chain, n);
    if (summary !== null && summary.latest >= clock.time() - keepMs) return { old, next: summary };
    old.push(n);
  }
  return { old, next: null };
}

/** Of another node, only silence tells that a process is gone. */
async function isOver(
  { dir, node, keepMs, clock }: RetireOptions,
  chain: string,
  segments: readonly number[],
): Promise<boolean> {
  const live = await readFile(join(dir, liveFile(chain)), 'utf8').catch(() => null);
  if (live === null) return true;
  if (parseChain(chain)?.node === nodeName(node)) return !isAlive(live);
  const { mtimeMs } = await stat(join(dir, segmentFile(chain, segments.at(-1) ?? 1)));
  return mtimeMs < clock.time() - keepMs;
}

async function remove({ dir, log }: RetireOptions, chain: string, segments: readonly number[]): Promise<number> {
  for (const n of segments) {
    await rm(join(dir, segmentFile(chain, n)), { force: true });
    await rm(join(dir, indexFile(chain, n)), { force: true });
  }
  log.info('old audit segments were removed', { chain, segments: segments.length });
  return segments.length;
}
