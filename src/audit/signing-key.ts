import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sha256 } from './frame.ts';

const PUBLIC_MODE = 0o644;

/**
 * The Ed25519 key that signs checkpoints, PKCS #8 PEM in `file`. Where there is none it is made, for its owner alone (0600),
 * with its public half beside it in `<file>.pub`. Throws when the file cannot be read or holds another kind of key.
 */
export function openSigningKey(file: string): KeyObject {
  const pem = readIfThere(file) ?? makeKey(file);
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file} holds no Ed25519 key`);
  return key;
}

/** A public key, PEM. The private one serves too: its public half is taken. Throws as `openSigningKey` does. */
export function readPublicKey(file: string): KeyObject {
  const key = createPublicKey(readFileSync(file));
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file} holds no Ed25519 key`);
  return key;
}

const ids = new WeakMap<KeyObject, string>();

/** First 16 hex digits of the SHA-256 of the public key (SPKI, DER). */
export function keyId(key: KeyObject): string {
  const known = ids.get(key);
  if (known !== undefined) return known;
  const half = key.type === 'public' ? key : createPublicKey(key);
  const id = sha256(half.export({ type: 'spki', format: 'der' })).slice(0, 16);
  ids.set(key, id);
  return id;
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function makeKey(file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const own = `${file}.${process.pid}.new`;
  writeFileSync(own, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flush: true });
  try {
    // Workers start at once: the first link stands, and all of them read that one.
    linkSync(own, file);
    writeFileSync(`${file}.pub`, publicKey.export({ type: 'spki', format: 'pem' }), { mode: PUBLIC_MODE });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readFileSync(file, 'utf8');
}
