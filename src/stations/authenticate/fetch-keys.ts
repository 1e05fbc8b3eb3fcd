import { createHash } from 'node:crypto';
import type { LoadedKeys } from './key-cache.ts';
import { readKeySet } from './key-set.ts';

/** The largest key set that is read, in bytes. */
export const MAX_KEY_SET_BYTES = 256 * 1024;

export type Fetch = typeof globalThis.fetch;

/** Reads a key set from its bytes. Throws `Error` for what is not a sound one. */
export function parseKeys(bytes: Uint8Array): LoadedKeys {
  return { digest: createHash('sha256').update(bytes).digest('hex'), set: readKeySet(parseJson(bytes)) };
}

/** A parser's own words quote the text, and the wrong file may be a private key. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Error('not JSON');
  }
}

async function readBounded(response: Response): Promise<Buffer> {
  if (response.body === null) throw new Error('empty answer');
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_KEY_SET_BYTES) throw new Error(`key set larger than ${MAX_KEY_SET_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Fetches a JWK set. No redirect is followed, so scheme and host are those of the configuration. The deadline covers the
 * body too. Rejects with `Error` for anything but a sound set.
 */
export async function fetchKeys(url: string, timeoutMs: number, fetch: Fetch): Promise<LoadedKeys> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: abort.signal,
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return parseKeys(await readBounded(response));
  } finally {
    clearTimeout(timer);
    // Ends a body that was not read to its end: a refused answer must not go on downloading.
    abort.abort();
  }
}
