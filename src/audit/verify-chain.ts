import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../core/json.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Findings, Place } from './findings.ts';
import { readPieces } from './frame-reader.ts';
import type { Piece } from './frame-reader.ts';
import { segmentFile } from './names.ts';
import { parseRecord } from './record.ts';
import type { AuditRecord } from './record.ts';
import { extend, readIndex } from './summary.ts';
import type { SegmentSummary } from './summary.ts';

/** A chain's end, as the one that follows it says. */
export interface Link {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** What walking a chain shows. */
export interface WalkedChain {
  readonly chain: string;
  readonly segments: number;
  readonly records: number;
  readonly first: { readonly seq: number; readonly prev: string; readonly time: number } | null;
  readonly last: { readonly seq: number; readonly hash: string; readonly time: number } | null;
  /** The highest record whose hash equals that of a checkpoint; 0 for none. */
  readonly sworn: number;
  /** Time of that checkpoint. */
  readonly swornAt: number | null;
  readonly after: Link | null;
}

/** A file that was written this lately may end in half a record: its writer is at work. */
const GROWING_MS = 10_000;

/** Reads all of a chain and compares it with its checkpoints, which are in the order of `seq`. Memory does not grow with it. */
export async function walkChain({
  dir,
  chain,
  segments,
  checkpoints,
  findings,
  now,
}: {
  readonly dir: string;
  readonly chain: string;
  readonly segments: readonly number[];
  readonly checkpoints: readonly Checkpoint[];
  readonly findings: Findings;
  readonly now: number;
}): Promise<WalkedChain> {
  const walk = new ChainWalk(chain, checkpoints, findings);
  let before: number | null = null;
  for (const n of segments) {
    if (before !== null && n !== before + 1) {
      const which = n === before + 2 ? `segment ${before + 1} is` : `segments ${before + 1} to ${n - 1} are`;
      findings.fault('missing_segment', `${which} missing`, { chain, segment: before + 1 });
    }
    before = n;
    walk.enter(n);
    const path = join(dir, segmentFile(chain, n));
    for await (const pieces of readPieces(path)) for (const piece of pieces) walk.take(piece);
    const growing = n === segments.at(-1) && (await stat(path)).mtimeMs > now - GROWING_MS;
    walk.leave(growing, n === segments.at(-1), await readIndex(dir, chain, n));
  }
  return walk.result(segments.length);
}

class ChainWalk {
  readonly #chain: string;
  readonly #checkpoints: readonly Checkpoint[];
  readonly #findings: Findings;
  #segment = 0;
  #summary: SegmentSummary | null = null;
  #tail = 0;
  #faultsBefore = 0;
  #records = 0;
  #first: WalkedChain['first'] = null;
  #last: WalkedChain['last'] = null;
  #after: Link | null = null;
  /** Bad pieces since the last record. */
  #bad = 0;
  #next = 0;
  #sworn = 0;
  #swornAt: number | null = null;

  constructor(chain: string, checkpoints: readonly Checkpoint[], findings: Findings) {
    this.#chain = chain;
    this.#checkpoints = checkpoints;
    this.#findings = findings;
  }

  enter(segment: number): void {
    this.#segment = segment;
    this.#summary = null;
    this.#tail = 0;
    this.#faultsBefore = this.#findings.faults;
  }

  take(piece: Piece): void {
    if (piece.kind === 'tail') {
      this.#tail = piece.bytes;
      return;
    }
    const record = piece.kind === 'frame' ? parseRecord(piece.body) : null;
    if (piece.kind === 'bad' || record === null) {
      const after = this.#last === null ? 'at its beginning' : `after record ${this.#last.seq}`;
      this.#findings.fault(
        'altered',
        `${piece.bytes} bytes ${after} are no record as it was written`,
        this.#at((this.#last?.seq ?? 0) + 1),
      );
      this.#bad += 1;
      return;
    }
    this.#records += 1;
    if (record.chain !== this.#chain) {
      this.#findings.fault('foreign', `a record of chain ${record.chain} lies here`, this.#at(record.seq));
      return;
    }
    if (!this.#follows(record, piece.hash)) return;
    this.#bad = 0;
    this.#first ??= this.#begin(record);
    this.#last = { seq: record.seq, hash: piece.hash, time: record.time };
    this.#summary = extend(this.#summary, record, piece.hash, piece.offset + piece.bytes);
    if (record.kind === 'system') this.#tell(record);
    this.#compare(record.seq, piece.hash);
  }

  leave(growing: boolean, isLast: boolean, index: SegmentSummary | null): void {
    if (this.#tail > 0) {
      const message = `${this.#tail} bytes at the end are no whole record`;
      if (growing) this.#findings.note('growing', `${message}: it is being written`, this.#at());
      else if (isLast)
        this.#findings.fault('torn', `${message}, and no start of the gateway has mended this yet`, this.#at());
      else this.#findings.fault('altered', message, this.#at());
    }
    const summary = this.#summary;
    // Where something is wrong with the segment, the index has its reason to differ.
    if (index === null || summary === null || this.#findings.faults > this.#faultsBefore) return;
    const same = (Object.keys(summary) as (keyof SegmentSummary)[]).every((key) => summary[key] === index[key]);
    if (!same) this.#findings.fault('wrong_index', 'the index does not tell what the segment holds', this.#at());
  }

  result(segments: number): WalkedChain {
    return {
      chain: this.#chain,
      segments,
      records: this.#records,
      first: this.#first,
      last: this.#last,
      sworn: this.#sworn,
      swornAt: this.#swornAt,
      after: this.#after,
    };
  }

  /** False for a record that has no place here: the walk goes on from the one before it. */
  #follows({ seq, prev }: AuditRecord, hash: string): boolean {
    const last = this.#last;
    if (last === null) return true;
    if (seq === last.seq && hash === last.hash) {
      this.#findings.fault('duplicate', `record ${seq} is there twice`, this.#at(seq));
      return false;
    }
    if (seq <= last.seq) {
      this.#findings.fault('out_of_order', `record ${seq} lies after record ${last.seq}`, this.#at(seq));
      return false;
    }
    const gone = seq - last.seq - 1 - this.#bad;
    if (gone > 0) {
      const from = last.seq + 1 + this.#bad;
      const which = gone === 1 ? `record ${from} is` : `records ${from} to ${seq - 1} are`;
      this.#findings.fault('missing', `${which} missing`, this.#at(from));
    } else if (seq === last.seq + 1 && prev !== last.hash) {
      this.#findings.fault('unlinked', `record ${seq} does not follow on record ${last.seq} as it is`, this.#at(seq));
    }
    return true;
  }

  #begin({ seq, prev, time, facts }: AuditRecord): NonNullable<WalkedChain['first']> {
    if (seq === 1) {
      this.#after = linkOf(facts['after']);
      if ((this.#after?.hash ?? '0'.repeat(64)) !== prev)
        this.#findings.fault('unlinked', 'the first record does not follow on the chain that it names', this.#at(seq));
    }
    return { seq, prev, time };
  }

  #tell({ seq, facts }: AuditRecord): void {
    const { event } = facts;
    if (event === 'gap')
      this.#findings.note(
        'gap',
        `${JSON.stringify(facts['dropped'])} entries were dropped before record ${seq}: the queue was full`,
        this.#at(seq),
      );
    if (event === 'segment_lost')
      this.#findings.note(
        'segment_lost',
        `segment ${JSON.stringify(facts['segment'])} was removed while it was written`,
        this.#at(seq),
      );
    if (event !== 'recovery') return;
    for (const entry of Array.isArray(facts['recovered']) ? (facts['recovered'] as { [key: string]: Json }[]) : []) {
      const cut = entry['cut'] as { readonly bytes?: number } | null;
      const what =
        entry['damaged'] === true
          ? 'it was damaged and left so'
          : cut === null
            ? 'nothing was torn'
            : `${cut.bytes ?? 0} torn bytes were cut`;
      this.#findings.note(
        'recovery',
        `chain ${JSON.stringify(entry['chain'])} ended without notice after record ${JSON.stringify(entry['seq'])}: ${what}`,
        this.#at(seq),
      );
    }
  }

  #compare(seq: number, hash: string): void {
    for (; ; this.#next += 1) {
      const checkpoint = this.#checkpoints[this.#next];
      if (checkpoint === undefined || checkpoint.seq > seq) return;
      if (checkpoint.seq < seq) continue;
      if (checkpoint.head === hash) {
        this.#sworn = seq;
        this.#swornAt = checkpoint.time;
      } else {
        this.#findings.fault('rewritten', `record ${seq} is not the one that a checkpoint swears to`, this.#at(seq));
      }
    }
  }

  #at(seq?: number): Place {
    return { chain: this.#chain, segment: this.#segment, ...(seq === undefined ? {} : { seq }) };
  }
}

function linkOf(value: Json | undefined): Link | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { chain, seq, hash } = value as { readonly [key: string]: Json };
  return typeof chain === 'string' && typeof seq === 'number' && typeof hash === 'string' ? { chain, seq, hash } : null;
}
