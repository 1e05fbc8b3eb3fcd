import { GrowingBuffer } from '../../lib/sse/growing-buffer.ts';

const NUL = 0x00;
const LF = 0x0a;
const CR = 0x0d;

/** Cuts a stream into its records: what stands between NUL, LF or CR. JSON escapes all three, so none is inside a record. */
export interface RecordSplitter {
  /** False when a record is longer than the bound; the splitter is spent then. */
  readonly push: (chunk: Buffer) => boolean;
  /** What came after the last separator; empty for a stream that ended with one. */
  readonly rest: () => Buffer;
}

/** Each byte is looked at once and copied at most once more. `onRecord` gets no empty record. */
export function createRecordSplitter({
  maxRecordBytes,
  onRecord,
}: {
  readonly maxRecordBytes: number;
  readonly onRecord: (record: Buffer) => void;
}): RecordSplitter {
  const open = new GrowingBuffer();

  const close = (chunk: Buffer, start: number, end: number): boolean => {
    if (open.length + end - start > maxRecordBytes) return false;
    if (open.length > 0) {
      open.append(chunk, start, end);
      onRecord(open.take());
    } else if (end > start) {
      onRecord(chunk.subarray(start, end));
    }
    return true;
  };

  return {
    push: (chunk) => {
      let start = 0;
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at];
        if (byte !== LF && byte !== NUL && byte !== CR) continue;
        if (!close(chunk, start, at)) return false;
        start = at + 1;
      }
      if (open.length + chunk.length - start > maxRecordBytes) return false;
      if (start < chunk.length) open.append(chunk, start, chunk.length);
      return true;
    },
    rest: () => open.take(),
  };
}
