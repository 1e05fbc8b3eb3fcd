import { GatewayError } from '../../core/error.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { redact } from './redact.ts';

/** Shorter values would blot out innocent words. */
const MIN_SECRET = 6;
/** A larger error body is replaced by ours: it would not be read to its end. */
const MAX_RAW = 64 * 1024;

const secretsByConfig = new WeakMap<Snapshot, readonly string[]>();

/** The exact secrets that we send to backends, longest first. */
function secretsOf(config: Snapshot): readonly string[] {
  let secrets = secretsByConfig.get(config);
  if (secrets === undefined) {
    const values = [...config.backends.values()].flatMap(({ credentials }) =>
      credentials.flatMap(([, value]) => [value, value.slice(value.indexOf(' ') + 1)]),
    );
    const long = new Set(values.filter((value) => value.length >= MIN_SECRET));
    secrets = [...long].toSorted((a, b) => b.length - a.length);
    secretsByConfig.set(config, secrets);
  }
  return secrets;
}

/** `text` without our own credentials and without anything that looks like one. */
function clean(text: string, config: Snapshot): string {
  let out = text;
  for (const secret of secretsOf(config)) out = out.replaceAll(secret, '***');
  return redact(out);
}

export interface CleanError {
  readonly error: GatewayError;
  /** The upstream's own body, where nothing had to be taken out of it. */
  readonly raw?: Buffer;
}

/** An upstream's error as a client may see it: some upstreams quote the key that they were called with. */
export function cleanError(error: GatewayError, raw: Buffer | undefined, config: Snapshot): CleanError {
  const message = clean(error.message, config);
  const cleaned =
    message === error.message && error.original === null
      ? error
      : new GatewayError(error.code, message, {
          param: error.param,
          status: error.status,
          type: error.type,
          headers: error.headers,
          ...(error.retryAfterMs === null ? {} : { retryAfterMs: error.retryAfterMs }),
          ...(error.original === null ? {} : { original: clean(error.original, config) }),
          cause: error.cause,
        });
  if (raw === undefined || raw.length > MAX_RAW) return { error: cleaned };
  const text = raw.toString('utf8');
  return clean(text, config) === text ? { error: cleaned, raw } : { error: cleaned };
}
