import { join } from 'node:path';
import { readPieces } from './frame-reader.ts';
import { listChains, segmentFile } from './names.ts';
import { parseRecord } from './record.ts';
import type { AuditRecord } from './record.ts';
import { readIndex } from './summary.ts';

/** Which records are wanted. What is left out is not asked for. */
export interface RecordFilter {
  readonly kind?: AuditRecord['kind'];
  /** The model that was asked for, or the one that answered. */
  readonly model?: string;
  readonly tenant?: string;
  /** What the client saw in `x-request-id`, or our own id. */
  readonly requestId?: string;
  /** Unix ms, from this on. */
  readonly from?: number;
  /** Unix ms, before this. */
  readonly to?: number;
}

export interface FoundRecord {
  readonly record: AuditRecord;
  readonly hash: string;
  /** The canonical JSON of the record, as it was hashed. */
  readonly text: string;
}

/** Told of what could not be read. */
export type OnUnreadable = (file: string, bytes: number) => void;

/**
 * The wanted records, chain by chain in the order of their start, within a chain as they were written; in batches. Finished
 * segments whose index shows no record of the time are passed over. Records are as their own hash says; whether they belong
 * there is for `verifyAudit` to say.
 */
export async function* readRecords(
  dir: string,
  filter: RecordFilter,
  onUnreadable: OnUnreadable,
): AsyncGenerator<readonly FoundRecord[], void> {
  const { from = -Infinity, to = Infinity } = filter;
  const needles = needlesOf(filter);
  for (const [chain, segments] of await listChains(dir)) {
    for (const n of segments) {
      const index = await readIndex(dir, chain, n);
      if (index !== null && (index.latest < from || index.earliest >= to)) continue;
      const file = segmentFile(chain, n);
      for await (const pieces of readPieces(join(dir, file))) {
        const found: FoundRecord[] = [];
        for (const piece of pieces) {
          if (piece.kind !== 'frame') {
            onUnreadable(file, piece.bytes);
            continue;
          }
          // Reading JSON is what costs: most records are told apart by their bytes.
          if (!needles.every((needle) => piece.body.includes(needle))) continue;
          const record = parseRecord(piece.body);
          if (record === null) onUnreadable(file, piece.bytes);
          else if (matches(record, filter)) found.push({ record, hash: piece.hash, text: piece.body.toString('utf8') });
        }
        if (found.length > 0) yield found;
      }
    }
  }
}

function needlesOf({ model, tenant, requestId, kind }: RecordFilter): readonly string[] {
  const values = [model, tenant, requestId]
    .filter((value) => value !== undefined)
    .map((value) => JSON.stringify(value));
  return kind === undefined ? values : [...values, `"kind":"${kind}"`];
}

function matches({ kind, time, facts }: AuditRecord, filter: RecordFilter): boolean {
  const { model, tenant, requestId, from = -Infinity, to = Infinity } = filter;
  return (
    (filter.kind === undefined || filter.kind === kind) &&
    time >= from &&
    time < to &&
    (tenant === undefined || facts['tenant'] === tenant) &&
    (model === undefined || facts['model'] === model || facts['requested_model'] === model) &&
    (requestId === undefined || facts['request_id'] === requestId || facts['id'] === requestId)
  );
}
