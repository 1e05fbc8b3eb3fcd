import { open } from 'node:fs/promises';
import { FRAME_HEAD, lineEnd, MAX_BODY, readFrame } from './frame.ts';
import type { Frame } from './frame.ts';

/** What lies in a segment file, in order. `offset` and `bytes` cover the whole file without a hole. */
export type Piece =
  | ({ readonly kind: 'frame'; readonly offset: number; readonly bytes: number } & Frame)
  /** A line that is no frame. */
  | { readonly kind: 'bad'; readonly offset: number; readonly bytes: number }
  /** What follows the last LF. */
  | { readonly kind: 'tail'; readonly offset: number; readonly bytes: number };

const CHUNK = 1024 * 1024;
/** No frame's line is longer, so the rest of such a line need not be kept. */
const MAX_LINE = FRAME_HEAD + MAX_BODY + 1;

/**
 * Reads a segment in batches, so that the caller awaits once a MiB and not once a record. Memory is bounded by the longest
 * frame. Bodies are views that hold until the next batch is asked for. Throws what `node:fs` throws.
 */
export async function* readPieces(path: string): AsyncGenerator<readonly Piece[], void> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(MAX_LINE + CHUNK);
    let offset = 0;
    let held = 0;
    /** Bytes of an overlong line that were let go of. */
    let dropped = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, held, CHUNK, null);
      if (bytesRead === 0) break;
      const filled = buffer.subarray(0, held + bytesRead);
      const pieces: Piece[] = [];
      let start = 0;
      // What was held has no LF: looking at it again would make long lines cost their square.
      for (let end = lineEnd(filled, held); end !== -1; end = lineEnd(filled, start)) {
        const bytes = dropped + end + 1 - start;
        const frame = dropped === 0 ? readFrame(filled, start, end) : null;
        pieces.push(frame === null ? { kind: 'bad', offset, bytes } : { kind: 'frame', offset, bytes, ...frame });
        offset += bytes;
        dropped = 0;
        start = end + 1;
      }
      if (pieces.length > 0) yield pieces;
      held = filled.length - start;
      if (held >= MAX_LINE) {
        dropped += held;
        held = 0;
      }
      buffer.copy(buffer, 0, start, start + held);
    }
    if (dropped + held > 0) yield [{ kind: 'tail', offset, bytes: dropped + held }];
  } finally {
    await file.close();
  }
}
