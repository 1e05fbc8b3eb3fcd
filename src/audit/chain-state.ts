import type { QueuedEntry } from './entry-queue.ts';
import { frameOf } from './frame.ts';
import { bodyOf } from './record.ts';
import { extend } from './summary.ts';
import type { SegmentSummary } from './summary.ts';

/** A chain up to some record. */
export interface ChainState {
  readonly chain: string;
  readonly seq: number;
  /** Hash of that record. */
  readonly head: string;
}

/** Entries made into lines, with what is true once they are on disk. */
export interface Batch {
  readonly entries: readonly QueuedEntry[];
  readonly bytes: Buffer;
  readonly state: ChainState;
  /** Of the segment with the batch in it. */
  readonly summary: SegmentSummary;
}

/** Chains entries onto `state`. Null for no entries. */
export function chainOn(
  state: ChainState,
  before: SegmentSummary | null,
  offset: number,
  entries: readonly QueuedEntry[],
): Batch | null {
  const { chain } = state;
  let { seq, head } = state;
  let summary = before;
  let end = offset;
  let text = '';
  for (const { kind, time, facts } of entries) {
    seq += 1;
    const { line, hash } = frameOf(bodyOf({ chain, facts, kind, prev: head, seq, time }));
    end += Buffer.byteLength(line);
    summary = extend(summary, { seq, prev: head, time }, hash, end);
    head = hash;
    text += line;
  }
  if (summary === null || entries.length === 0) return null;
  return { entries, bytes: Buffer.from(text), state: { chain, seq, head }, summary };
}
