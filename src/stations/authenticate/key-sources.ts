import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Issuer } from '../../core/snapshot.ts';
import { fetchKeys, MAX_KEY_SET_BYTES, parseKeys } from './fetch-keys.ts';
import type { Fetch } from './fetch-keys.ts';
import { KeyCache } from './key-cache.ts';
import type { KeyCacheTiming, KeySource, LoadedKeys } from './key-cache.ts';
import { secretKeySet } from './key-set.ts';
import { toError } from '../../lib/error/to-error.ts';

type Keys = Issuer['keys'];

export interface KeySourcesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly fetch: Fetch;
}

/** A local file is looked at this often. */
const FILE_POLL_MS = 5000;
/** Local sources that fail keep their last keys for a day. */
const LOCAL_STALE_MS = 24 * 3600 * 1000;
const LOCAL_RETRY_MS = 1000;
const MAX_SECRET_BYTES = 64 * 1024;

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Reads the file again only when its time or size changed. */
function fileLoader(path: string): () => Promise<LoadedKeys | null> {
  let seen = '';
  return async () => {
    const { mtimeMs, size } = await stat(path);
    if (size > MAX_KEY_SET_BYTES) throw new Error(`key set larger than ${MAX_KEY_SET_BYTES} bytes`);
    const version = `${mtimeMs} ${size}`;
    if (version === seen) return null;
    const loaded = parseKeys(await readFile(path));
    seen = version;
    return loaded;
  };
}

/** Runs the command without a shell. Its output is the secret, so no error of ours repeats any of it. */
function runCommand(command: readonly string[], timeoutMs: number): Promise<LoadedKeys> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    execFile(file, args, { timeout: timeoutMs, maxBuffer: MAX_SECRET_BYTES }, (error, stdout) => {
      if (error !== null) {
        reject(new Error(`secret command failed: ${error.signal ?? error.code ?? 'unknown'}`));
        return;
      }
      try {
        const secret = Buffer.from(stdout.trim());
        resolve({ digest: digestOf(secret), set: secretKeySet(secret) });
      } catch (reason) {
        reject(toError(reason));
      }
    });
  });
}

function identity(keys: Keys): string {
  switch (keys.kind) {
    case 'jwks-url':
      return `jwks-url ${keys.url}`;
    case 'jwks-file':
      return `jwks-file ${keys.path}`;
    case 'secret':
      return `secret ${digestOf(keys.secret)}`;
    case 'exec':
      return `exec ${JSON.stringify(keys.command)}`;
    default:
      return keys satisfies never;
  }
}

function timingOf(keys: Keys, waitMs: number): KeyCacheTiming {
  switch (keys.kind) {
    case 'jwks-url':
      return {
        refreshMs: keys.refreshMs,
        cooldownMs: keys.cooldownMs,
        maxStaleMs: Math.max(keys.maxStaleMs, keys.refreshMs),
        waitMs: Math.min(waitMs, keys.timeoutMs),
      };
    case 'exec': {
      const maxStaleMs = Math.max(LOCAL_STALE_MS, keys.refreshMs * 2);
      return { refreshMs: keys.refreshMs, cooldownMs: LOCAL_RETRY_MS, maxStaleMs, waitMs };
    }
    case 'jwks-file':
      return { refreshMs: FILE_POLL_MS, cooldownMs: LOCAL_RETRY_MS, maxStaleMs: LOCAL_STALE_MS, waitMs };
    case 'secret':
      return { refreshMs: Infinity, cooldownMs: Infinity, maxStaleMs: Infinity, waitMs };
    default:
      return keys satisfies never;
  }
}

function loaderOf(keys: Keys, fetch: Fetch): () => Promise<LoadedKeys | null> {
  switch (keys.kind) {
    case 'jwks-url':
      return () => fetchKeys(keys.url, keys.timeoutMs, fetch);
    case 'jwks-file':
      return fileLoader(keys.path);
    case 'exec':
      return () => runCommand(keys.command, keys.timeoutMs);
    case 'secret':
      return async () => ({ digest: digestOf(keys.secret), set: secretKeySet(keys.secret) });
    default:
      return keys satisfies never;
  }
}

/** What may stand in a log about a source: no query, no user info, no arguments, no secret. */
function nameOf(keys: Keys): string {
  switch (keys.kind) {
    case 'jwks-url': {
      if (!URL.canParse(keys.url)) return 'jwks-url';
      const url = new URL(keys.url);
      return `${url.origin}${url.pathname}`;
    }
    case 'jwks-file':
      return keys.path;
    case 'secret':
      return 'secret';
    case 'exec':
      return keys.command[0] ?? 'exec';
    default:
      return keys satisfies never;
  }
}

/** All key caches of the process, by what they load: they outlive reloads of the configuration. */
export class KeySources {
  readonly #options: KeySourcesOptions;
  #caches = new Map<string, KeyCache>();

  constructor(options: KeySourcesOptions) {
    this.#options = options;
  }

  /** The source of `keys`; new timing takes effect on a cache that is already there. */
  of(keys: Keys, waitMs: number): KeySource {
    const { fetch, clock, log, metrics } = this.#options;
    const timing = timingOf(keys, waitMs);
    const known = this.#caches.get(identity(keys));
    if (known !== undefined) {
      known.timing = timing;
      return known;
    }
    const cache = new KeyCache({ name: nameOf(keys), load: loaderOf(keys, fetch), timing, clock, log, metrics });
    this.#caches.set(identity(keys), cache);
    return cache;
  }

  /** Forgets what the configuration does not name any more. */
  retain(used: readonly Keys[]): void {
    const names = new Set(used.map(identity));
    this.#caches = new Map([...this.#caches].filter(([name]) => names.has(name)));
  }
}
