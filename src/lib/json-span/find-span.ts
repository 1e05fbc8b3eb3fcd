import { type ByteSpan, scanJson } from './scan-json.ts';

const DEPTH = 512;

/** The members' value spans of the object that stands in `span`, by decoded key. The text must be valid JSON. */
export function memberSpans(text: Buffer, span: ByteSpan): ReadonlyMap<string, ByteSpan> {
  const { members } = scanPart(text, span);
  if (span.start === 0) return members;
  const found = new Map<string, ByteSpan>();
  for (const [key, part] of members) found.set(key, shift(part, span.start));
  return found;
}

/** The elements' spans of the array that stands in `span`. The text must be valid JSON. */
export function elementSpans(text: Buffer, span: ByteSpan): readonly ByteSpan[] {
  return scanPart(text, span).elements.map((part) => shift(part, span.start));
}

/** Where the value at a path stands (`['choices', 0, 'delta']`), or null. Each step scans the value before it once. */
export function findSpan(text: Buffer, path: readonly (string | number)[]): ByteSpan | null {
  let span: ByteSpan | null = { start: 0, end: text.length };
  for (const step of path) {
    if (span === null) return null;
    span = (typeof step === 'string' ? memberSpans(text, span).get(step) : elementSpans(text, span)[step]) ?? null;
  }
  return span;
}

function scanPart(text: Buffer, span: ByteSpan): ReturnType<typeof scanJson> {
  return scanJson(text.subarray(span.start, span.end), { maxDepth: DEPTH, refuseDuplicates: false });
}

function shift(span: ByteSpan, by: number): ByteSpan {
  return { start: span.start + by, end: span.end + by };
}
