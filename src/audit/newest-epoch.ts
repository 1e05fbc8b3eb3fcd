import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { KnownEpoch } from '../core/ports/epoch-store.ts';
import { readFrame, lineEnd, MAX_BODY } from './frame.ts';
import { listChains, segmentFile } from './names.ts';
import { parseRecord } from './record.ts';

/** Newest chains that are looked at: workers, and starts of each. */
const CHAINS = 64;
/** Of each chain; the newest may just have begun. */
const SEGMENTS = 2;
/** Of each file, from its end. */
const BYTES = 2 * MAX_BODY;

/**
 * The last state of the store that requests recorded here have seen (`store_epoch`, `store_at`); null when none did. Reads the
 * ends of files only. Throws what `node:fs` throws.
 */
export async function newestEpoch(dir: string): Promise<KnownEpoch | null> {
  let newest: KnownEpoch | null = null;
  for (const [chain, segments] of [...(await listChains(dir))].slice(-CHAINS)) {
    for (const n of segments.slice(-SEGMENTS)) {
      const found = await lastIn(join(dir, segmentFile(chain, n)));
      if (found !== null && (newest === null || found.at > newest.at)) newest = found;
    }
  }
  return newest;
}

async function lastIn(path: string): Promise<KnownEpoch | null> {
  const end = await readEnd(path);
  let last: KnownEpoch | null = null;
  let start = 0;
  for (let stop = lineEnd(end, 0); stop !== -1; stop = lineEnd(end, start)) {
    const frame = readFrame(end, start, stop);
    start = stop + 1;
    // Reading JSON is what costs.
    if (frame === null || !frame.body.includes('"store_epoch":"')) continue;
    const { store_epoch: id, store_at: at } = parseRecord(frame.body)?.facts ?? {};
    if (typeof id !== 'string' || typeof at !== 'number') continue;
    if (last === null || at >= last.at) last = { id, at };
  }
  return last;
}

async function readEnd(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(size, BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
