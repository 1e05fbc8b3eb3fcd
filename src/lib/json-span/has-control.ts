const SPACE = 0x20;
const WORD = 4;
/** Words between two looks at what was found. */
const STRIDE = 1024;

/** Is one of the bytes `[start, end)` below 0x20, as none may be in a JSON string? Four are looked at at once. */
export function hasControl(bytes: Buffer, start: number, end: number): boolean {
  const words = end - start >= 4 * WORD ? wordsIn(bytes, start, end) : null;
  if (words === null) return hasControlByte(bytes, start, end);
  const first = words.byteOffset - bytes.byteOffset;
  for (let from = 0; from < words.length; from += STRIDE) {
    const to = Math.min(from + STRIDE, words.length);
    let found = 0;
    for (let at = from; at < to; at += 1) {
      const word = words[at] ?? 0;
      // The highest bit of a byte is set where taking 0x20 away borrows and the byte itself is below 0x80.
      found |= (word - 0x2020_2020) & ~word;
    }
    if ((found & 0x8080_8080) !== 0) return true;
  }
  return hasControlByte(bytes, start, first) || hasControlByte(bytes, first + words.length * WORD, end);
}

function wordsIn(bytes: Buffer, start: number, end: number): Int32Array {
  const from = Math.ceil((bytes.byteOffset + start) / WORD) * WORD;
  return new Int32Array(bytes.buffer, from, Math.floor((bytes.byteOffset + end - from) / WORD));
}

function hasControlByte(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if ((bytes[at] ?? 0) < SPACE) return true;
  return false;
}
