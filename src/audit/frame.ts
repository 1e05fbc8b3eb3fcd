import { hash as digest } from 'node:crypto';

/**
 * One record is one line of bytes:
 *
 *     LLLLLLLL SP HASH SP BODY LF
 *
 * `LLLLLLLL` is the length of BODY in bytes (8 decimal digits), `HASH` the SHA-256 of BODY (64 lower-case hex digits), BODY
 * the canonical JSON of the record, which holds no LF. Writer, recovery and verifier all go through this file.
 */
export const FRAME_HEAD = 74;
/** The longest body. */
export const MAX_BODY = 1024 * 1024;

const LF = 10;
const SPACE = 32;
const LENGTH_DIGITS = 8;
const HASH_START = LENGTH_DIGITS + 1;
const HASH_END = HASH_START + 64;

/** A body with the hash that it was checked against. */
export interface Frame {
  readonly hash: string;
  readonly body: Buffer;
}

/** SHA-256 in hex. */
export function sha256(bytes: Uint8Array | string): string {
  return digest('sha256', bytes, 'hex');
}

/** The line of a body, and its hash, which the next record points at. */
export function frameOf(body: string): { readonly line: string; readonly hash: string } {
  const hash = sha256(body);
  return { hash, line: `${String(Buffer.byteLength(body)).padStart(LENGTH_DIGITS, '0')} ${hash} ${body}\n` };
}

/** Reads the line in `bytes` from `start` up to its LF at `end`; null when it is no frame, down to the last byte. */
export function readFrame(bytes: Buffer, start: number, end: number): Frame | null {
  const length = end - start - FRAME_HEAD;
  if (length < 2 || length > MAX_BODY) return null;
  if (bytes[start + LENGTH_DIGITS] !== SPACE || bytes[start + HASH_END] !== SPACE) return null;
  let said = 0;
  for (let at = start; at < start + LENGTH_DIGITS; at += 1) {
    const digit = (bytes[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) return null;
    said = said * 10 + digit;
  }
  if (said !== length) return null;
  const body = bytes.subarray(start + FRAME_HEAD, end);
  const hash = bytes.toString('latin1', start + HASH_START, start + HASH_END);
  return sha256(body) === hash ? { hash, body } : null;
}

/** Where the line that begins at `from` ends (its LF), or -1. */
export function lineEnd(bytes: Buffer, from: number): number {
  return bytes.indexOf(LF, from);
}
