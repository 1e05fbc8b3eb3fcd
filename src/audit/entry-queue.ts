import type { AuditEntry } from '../core/ports/audit.ts';
import { canonicalJson } from '../lib/jcs/canonical-json.ts';

/** An entry on its way to the disk. */
export interface QueuedEntry {
  readonly kind: AuditEntry['kind'];
  readonly time: number;
  /** Canonical JSON. */
  readonly facts: string;
  /** What it counts for in the bound. */
  readonly bytes: number;
  /** Its place in the order of all that were ever queued, from 1; 0 for what was put first. */
  readonly place: number;
}

/** One that is not queued yet. */
export type NewEntry = Omit<QueuedEntry, 'bytes' | 'place'>;

/** What a line adds to its facts, and the objects that hold it. */
const OVERHEAD = 512;

/**
 * First in, first out, bounded in bytes. What does not fit is counted; the count is queued as a `gap` record in the place of
 * what is missing, as soon as there is room. Entries count until `done`, so what is being written is within the bound too.
 */
export class EntryQueue {
  readonly #maxBytes: number;
  #entries: QueuedEntry[] = [];
  #bytes = 0;
  #taken = 0;
  #dropped = 0;
  #last = 0;
  #doneUpTo = 0;
  #from = 0;
  #to = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Entries that are not done. */
  get pending(): number {
    return this.#taken + this.#entries.length + (this.#dropped > 0 ? 1 : 0);
  }

  /** Entries that were dropped and are not yet told of by a record. */
  get dropped(): number {
    return this.#dropped;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Place of the newest entry. */
  get last(): number {
    return this.#last;
  }

  /** All up to this place are done. */
  get doneUpTo(): number {
    return this.#doneUpTo;
  }

  /** False when it was dropped. */
  push(entry: NewEntry): boolean {
    const bytes = Buffer.byteLength(entry.facts) + OVERHEAD;
    const gap = this.#dropped > 0 ? OVERHEAD : 0;
    if (this.#bytes + bytes + gap > this.#maxBytes) {
      if (this.#dropped === 0) this.#from = entry.time;
      this.#to = entry.time;
      this.#dropped += 1;
      return false;
    }
    this.#tellGap();
    this.#add({ ...entry, bytes });
    return true;
  }

  /** Goes in front of all others, bound or not: there is one such entry in a queue's life. */
  putFirst(entry: NewEntry): void {
    this.#entries.unshift({ ...entry, bytes: OVERHEAD, place: 0 });
    this.#bytes += OVERHEAD;
  }

  /** Takes entries of about `maxBytes`, at least one where there is any. */
  take(maxBytes: number): readonly QueuedEntry[] {
    if (this.#entries.length === 0) this.#tellGap();
    let count = 0;
    for (let bytes = 0; count < this.#entries.length && (count === 0 || bytes < maxBytes); count += 1) {
      bytes += this.#entries[count]?.bytes ?? 0;
    }
    const batch = this.#entries.slice(0, count);
    this.#entries = this.#entries.slice(count);
    this.#taken += count;
    return batch;
  }

  /** What was taken is on disk. */
  done(batch: readonly QueuedEntry[]): void {
    this.#taken -= batch.length;
    for (const entry of batch) this.#bytes -= entry.bytes;
    this.#doneUpTo = Math.max(this.#doneUpTo, batch.at(-1)?.place ?? 0);
  }

  #add(entry: Omit<QueuedEntry, 'place'>): void {
    this.#last += 1;
    this.#entries.push({ ...entry, place: this.#last });
    this.#bytes += entry.bytes;
  }

  #tellGap(): void {
    if (this.#dropped === 0) return;
    const facts = canonicalJson({ event: 'gap', dropped: this.#dropped, from: this.#from, to: this.#to });
    this.#add({ kind: 'system', time: this.#to, facts, bytes: OVERHEAD });
    this.#dropped = 0;
  }
}
