import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPieces } from './frame-reader.ts';
import { indexFile, segmentFile } from './names.ts';
import { parseRecord } from './record.ts';
import type { AuditRecord } from './record.ts';

/** What a segment holds. Written beside it when it is finished, to pass it over without reading it. */
export interface SegmentSummary {
  readonly first: number;
  readonly last: number;
  /** `prev` of the first record. */
  readonly base: string;
  /** Hash of the last record. */
  readonly head: string;
  readonly records: number;
  /** Of the records' times, Unix ms. */
  readonly earliest: number;
  readonly latest: number;
  /** Bytes up to the end of the last record. */
  readonly bytes: number;
}

/** The summary of a segment as it grows. */
export function extend(
  summary: SegmentSummary | null,
  { seq, prev, time }: Pick<AuditRecord, 'seq' | 'prev' | 'time'>,
  hash: string,
  end: number,
): SegmentSummary {
  return {
    first: summary?.first ?? seq,
    last: seq,
    base: summary?.base ?? prev,
    head: hash,
    records: (summary?.records ?? 0) + 1,
    earliest: Math.min(summary?.earliest ?? time, time),
    latest: Math.max(summary?.latest ?? time, time),
    bytes: end,
  };
}

/** What reading a whole segment shows. */
export interface SegmentScan {
  readonly summary: SegmentSummary | null;
  /** Bytes after the last record. */
  readonly rest: number;
  /** True when a record follows on something that is none: no crash does that. */
  readonly damaged: boolean;
}

export async function scanSegment(path: string): Promise<SegmentScan> {
  let summary: SegmentSummary | null = null;
  let rest = 0;
  let damaged = false;
  for await (const pieces of readPieces(path)) {
    for (const piece of pieces) {
      const record = piece.kind === 'frame' ? parseRecord(piece.body) : null;
      if (piece.kind !== 'frame' || record === null) {
        rest += piece.bytes;
        continue;
      }
      damaged ||= rest > 0;
      rest = 0;
      summary = extend(summary, record, piece.hash, piece.offset + piece.bytes);
    }
  }
  return { summary, rest, damaged };
}

/** Atomic: there is either a whole index or none. */
export async function writeIndex(dir: string, chain: string, n: number, summary: SegmentSummary): Promise<void> {
  const path = join(dir, indexFile(chain, n));
  await writeFile(`${path}.new`, `${JSON.stringify(summary)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

const NUMBERS = ['first', 'last', 'records', 'earliest', 'latest', 'bytes'] as const;

/** Null when there is none, or none that can be read: an index only saves time. */
export async function readIndex(dir: string, chain: string, n: number): Promise<SegmentSummary | null> {
  try {
    const value = JSON.parse(await readFile(join(dir, indexFile(chain, n)), 'utf8')) as SegmentSummary;
    const whole = NUMBERS.every((key) => Number.isSafeInteger(value[key]));
    return whole && typeof value.base === 'string' && typeof value.head === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** From the index, else by reading the segment. Null for a segment without records. */
export async function summaryOf(dir: string, chain: string, n: number): Promise<SegmentSummary | null> {
  return (await readIndex(dir, chain, n)) ?? (await scanSegment(join(dir, segmentFile(chain, n)))).summary;
}
