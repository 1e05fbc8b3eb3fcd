import { isObject, type Json } from '../../core/json.ts';
import { scanJson } from '../../lib/json-span/scan-json.ts';

/** Deeper than any answer; far less than what makes the engine's parser slow. */
const MAX_DEPTH = 512;
/** A level takes two bytes: a text this short cannot be deeper, and the hot path is spared the scan. */
const HARMLESS_BYTES = 2 * MAX_DEPTH;

/** A JSON object from a model service, or null for anything else. */
export function parseUpstream(text: Buffer): { readonly [key: string]: Json } | null {
  try {
    if (text.length > HARMLESS_BYTES) {
      scanJson(text, { maxDepth: MAX_DEPTH, refuseDuplicates: false });
    }
    const value: unknown = JSON.parse(text.toString('utf8', 0, text.length));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
