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

/** `text` without our own credentials and without anything that looks like one, however JSON spells them. */
function clean(text: string, config: Snapshot): string {
  const plain = text.replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  let out = plain;
  for (const secret of secretsOf(config)) out = out.replaceAll(secret, '***');
  out = redact(out);
  return out === plain ? text : out;
}

export interface CleanError {
  readonly error: GatewayError;
  /** The upstream's own body, where nothing had to be taken out of it. */
  readonly raw?: Buffer;
}

/** An upstream's error as a client may see it: some upstreams quote the key that they were called with. */
export function cleanError(error: GatewayError, raw: Buffer | undefined, config: Snapshot): CleanError {
  const message = clean(error.message, config);
  const param = error.param === null ? null : clean(error.param, config);
  const type = clean(error.type, config);
  const cleaned =
    message === error.message && param === error.param && type === error.type && error.original === null
      ? error
      : new GatewayError(error.code, message, {
          param,
          status: error.status,
          type,
          headers: error.headers,
          ...(error.retryAfterMs === null ? {} : { retryAfterMs: error.retryAfterMs }),
          ...(error.original === null ? {} : { original: clean(error.original, config) }),
          cause: error.cause,
        });
  if (raw === undefined || raw.length > MAX_RAW) return { error: cleaned };
  const text = raw.toString('utf8');
  return clean(text, config) === text ? { error: cleaned, raw } : { error: cleaned };
}
