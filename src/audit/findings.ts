/** What is wrong. Each of these makes a verification fail. */
export type Fault =
  /** Bytes that are no record: changed, or never written by us. */
  | 'altered'
  /** A whole record that does not follow on the one before it: inserted, or rewritten with a new hash. */
  | 'unlinked'
  | 'missing'
  | 'out_of_order'
  | 'duplicate'
  /** A record of another chain. */
  | 'foreign'
  /** The end is no whole record, and nobody mended it. */
  | 'torn'
  | 'missing_segment'
  | 'missing_chain'
  /** Records that a checkpoint or a later chain swears to are gone from the end. */
  | 'cut_tail'
  /** The records hang together, but are not those that were sworn to. */
  | 'rewritten'
  /** The chain does not begin where its checkpoint says. */
  | 'wrong_start'
  | 'forged_checkpoint'
  | 'no_checkpoint'
  /** An index that does not tell what its segment holds: an export would leave records out. */
  | 'wrong_index'
  | 'stray_file';

/** Worth knowing, and honest: it does not make a verification fail. */
export type Note = 'gap' | 'recovery' | 'growing' | 'left_over' | 'segment_lost';

export interface Finding {
  readonly kind: Fault | Note;
  readonly fault: boolean;
  readonly chain: string | null;
  readonly segment: number | null;
  readonly seq: number | null;
  /** A sentence for people. */
  readonly message: string;
}

/** Where it is; what is left out is not known. */
export interface Place {
  readonly chain?: string;
  readonly segment?: number;
  readonly seq?: number;
}

/** Findings that are kept. A log that is all wrong must not fill the memory. */
const KEPT = 1000;

/** Collects findings, bounded, and counts them all. */
export class Findings {
  readonly list: Finding[] = [];
  faults = 0;
  notes = 0;

  fault(kind: Fault, message: string, place: Place = {}): void {
    this.faults += 1;
    this.#keep(kind, true, message, place);
  }

  note(kind: Note, message: string, place: Place = {}): void {
    this.notes += 1;
    this.#keep(kind, false, message, place);
  }

  #keep(kind: Fault | Note, fault: boolean, message: string, { chain, segment, seq }: Place): void {
    if (this.list.length >= KEPT) return;
    this.list.push({ kind, fault, chain: chain ?? null, segment: segment ?? null, seq: seq ?? null, message });
  }
}
