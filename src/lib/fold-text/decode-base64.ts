import { isUtf8 } from 'node:buffer';

/** A run of text that was another text in disguise. Places are units of the original, `[start, end)`. */
export interface Decoded {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface DecodeBounds {
  /** Units of one run that are looked at. */
  readonly run?: number;
  /** Units of all runs together. */
  readonly total?: number;
}

const LEAST = 8;
const ALPHABET = new Uint8Array(128);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_')
  ALPHABET[char.charCodeAt(0)] = 1;

// oxlint-disable-next-line no-control-regex -- binary is told from text by just these
const BINARY = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

function decodeRun(run: string): string | null {
  // Prose is small letters with at most a capital in front; encoded text of this length practically never is.
  if (!/[A-Z0-9]/.test(run.slice(1))) return null;
  const bytes = Buffer.from(run.slice(0, run.length - (run.length % 4 === 1 ? 1 : 0)), 'base64');
  // A run that was cut may end within a character; at most three bytes are given up for it.
  for (let cut = 0; cut < 4 && cut < bytes.length; cut++) {
    const rest = bytes.subarray(0, bytes.length - cut);
    if (!isUtf8(rest)) continue;
    const text = rest.toString('utf8');
    return BINARY.test(text) ? null : text;
  }
  return null;
}

/**
 * Runs of base64 (both alphabets, with or without padding) that hold text: valid UTF-8 without control characters. One
 * layer, runs of at least 8 units; only the first `run` units of each are decoded and `total` of all.
 */
export function decodeBase64(text: string, { run = 4096, total = 65_536 }: DecodeBounds = {}): readonly Decoded[] {
  const found: Decoded[] = [];
  let budget = total;
  let start = -1;
  for (let i = 0; i <= text.length && budget > 0; i++) {
    const unit = i < text.length ? text.charCodeAt(i) : 32;
    if (unit < 128 && ALPHABET[unit] === 1) {
      if (start < 0) start = i;
      continue;
    }
    if (start < 0) continue;
    const padded = i + (unit === 61 ? (text.charCodeAt(i + 1) === 61 ? 2 : 1) : 0);
    if (padded - start >= LEAST) {
      const taken = text.slice(start, Math.min(i, start + Math.min(run, budget)));
      const decoded = decodeRun(taken);
      budget -= taken.length;
      if (decoded !== null) found.push({ text: decoded, start, end: padded });
    }
    start = -1;
  }
  return found;
}
