import { sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Json } from '../core/json.ts';
import { canonicalJson } from '../lib/jcs/canonical-json.ts';
import { sha256 } from './frame.ts';
import { keyId } from './signing-key.ts';

/** What is sworn: of `chain`, the records `from` to `seq` are held, they follow on `base` and end in `head`. */
export interface Checkpoint {
  readonly chain: string;
  /** First record that is still held; later than 1 once retention took older ones, `seq` + 1 once it took them all. */
  readonly from: number;
  /** `prev` of that record. */
  readonly base: string;
  readonly seq: number;
  readonly head: string;
  /** `seq - from + 1`. */
  readonly count: number;
  /** Unix milliseconds. */
  readonly time: number;
  /** SHA-256 of the text of the checkpoint before; zeros for a chain's first. */
  readonly prev: string;
}

/** Keeps a signature from standing for anything else that the key may ever sign. */
const DOMAIN = 'tokenlat audit checkpoint v1\n';
const MAX_TEXT = 4096;
const HASHES = ['base', 'head', 'prev'] as const;
const NUMBERS = ['from', 'seq', 'count', 'time'] as const;

/** One line of canonical JSON: the fields of the checkpoint, `key` (id of the public key), `signature` (Ed25519, base64), `v`. */
export function signCheckpoint(checkpoint: Checkpoint, privateKey: KeyObject): string {
  const said = { ...checkpoint, key: keyId(privateKey), v: 1 };
  const signature = sign(null, Buffer.from(DOMAIN + canonicalJson(said)), privateKey).toString('base64');
  return canonicalJson({ ...said, signature });
}

/** Reads and checks a checkpoint. Any of the keys may have signed it. */
export function openCheckpoint(
  text: string,
  publicKeys: readonly KeyObject[],
): { readonly checkpoint: Checkpoint } | { readonly fault: string } {
  const read = text.length > MAX_TEXT ? null : parse(text);
  if (read === null) return { fault: 'is no checkpoint' };
  const { signature, ...said } = read;
  const key = publicKeys.find((candidate) => keyId(candidate) === said['key']);
  if (key === undefined) return { fault: 'is signed with a key that was not given' };
  const signed = Buffer.from(DOMAIN + canonicalJson(said));
  if (typeof signature !== 'string' || !verify(null, signed, key, Buffer.from(signature, 'base64')))
    return { fault: 'has a signature that does not fit' };
  const { chain, from, base, seq, head, count, time, prev } = said as unknown as Checkpoint;
  return { checkpoint: { chain, from, base, seq, head, count, time, prev } };
}

/** What the next checkpoint's `prev` says of this one. */
export function checkpointHash(text: string): string {
  return sha256(text);
}

function parse(text: string): { readonly [key: string]: Json } | null {
  let value: Record<string, Json>;
  try {
    value = JSON.parse(text) as Record<string, Json>;
    if (canonicalJson(value) !== text) return null;
  } catch {
    return null;
  }
  const hashes = HASHES.every((key) => typeof value[key] === 'string' && /^[0-9a-f]{64}$/.test(value[key]));
  const numbers = NUMBERS.every((key) => Number.isSafeInteger(value[key]));
  const { from, seq, count } = value as unknown as Checkpoint;
  if (!hashes || !numbers || typeof value['chain'] !== 'string' || value['v'] !== 1) return null;
  return from >= 1 && count >= 0 && count === seq - from + 1 ? value : null;
}
