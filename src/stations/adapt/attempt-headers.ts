import type { HeaderPair, RequestHead } from '../../core/http.ts';
import type { Snapshot } from '../../core/snapshot.ts';

/** Credentials of a client. Envoy may hide them from us and still pass them on, so they are removed unseen. */
const SECRETS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
];

/** What else a client sends to us and no model server shall see. */
const CLIENT_ONLY: ReadonlySet<string> = new Set([
  'expect',
  'te',
  'content-encoding',
  'x-app-id',
  'x-user-level',
  'x-request-region',
  'x-business-line',
  'x-request-type',
  'x-enable-rag',
  'x-request-timeout-ms',
  'x-session-id',
  'x-canary-percentage',
  // Set by one dialect: the try before this one may have been of it.
  'anthropic-version',
]);

const PRIVATE_PREFIXES: readonly string[] = ['x-tokenlat-', 'x-envoy-', 'x-forwarded-', 'x-real-'];

const namesByConfig = new WeakMap<Snapshot, readonly string[]>();

/** Every header that any backend sets: the next attempt goes elsewhere and must not bring one along. */
function backendHeaderNames(config: Snapshot): readonly string[] {
  let names = namesByConfig.get(config);
  if (names === undefined) {
    const all = [...config.backends.values()].flatMap((backend) => [...backend.credentials, ...backend.headers]);
    names = [...new Set(all.map(([name]) => name))];
    namesByConfig.set(config, names);
  }
  return names;
}

/**
 * What to remove from the head of a try so that neither the client's secrets nor an earlier attempt's headers travel on:
 * Envoy keeps what attempt 1 changed when it tries again.
 */
export function headersToRemove(config: Snapshot, head: RequestHead, set: readonly HeaderPair[]): readonly string[] {
  const remove = new Set(SECRETS);
  for (const name of backendHeaderNames(config)) remove.add(name);
  for (const [name] of head.headers) {
    if (CLIENT_ONLY.has(name) || PRIVATE_PREFIXES.some((prefix) => name.startsWith(prefix))) remove.add(name);
  }
  for (const [name] of set) remove.delete(name);
  return [...remove];
}
