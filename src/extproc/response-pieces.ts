/** The most that Envoy takes in one piece of a full-duplex body. */
export const MAX_PIECE = 64 * 1024;

/** Cuts chunks into pieces that Envoy takes; empty ones vanish. Views, not copies. */
export function piecesOf(chunks: readonly Uint8Array[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += MAX_PIECE) {
      pieces.push(chunk.length <= MAX_PIECE ? chunk : chunk.subarray(start, start + MAX_PIECE));
    }
  }
  return pieces;
}
