import { CREDENTIAL_HEADERS } from '../../core/credential-headers.ts';
import type { HeaderPair, RequestHead } from '../../core/http.ts';
import type { Snapshot } from '../../core/snapshot.ts';

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
  'x-request-class',
  'x-enable-rag',
  'x-request-timeout-ms',
  'x-session-id',
  'x-canary-percentage',
  'x-accept-adapted',
  'x-request-priority',
  'prefer',
  'grpc-timeout',
  // Set by one dialect: the try before this one may have been of it.
  'anthropic-version',
]);

/** `x-gateway-`: how proxies and Endpoint Pickers tell each other where to send a request. */
const PRIVATE_PREFIXES: readonly string[] = ['x-tokenlat-', 'x-envoy-', 'x-forwarded-', 'x-real-', 'x-gateway-'];

/** What is removed from the head of every try with the same headers set, whatever the client sent. */
interface Always {
  readonly remove: readonly string[];
  readonly set: ReadonlySet<string>;
}

const alwaysByConfig = new WeakMap<Snapshot, WeakMap<readonly HeaderPair[], Always>>();

/** The client's credentials and every header that any backend sets: the next attempt goes elsewhere and must not bring one. */
function alwaysOf(config: Snapshot, set: readonly HeaderPair[]): Always {
  let bySet = alwaysByConfig.get(config);
  if (bySet === undefined) alwaysByConfig.set(config, (bySet = new WeakMap()));
  let always = bySet.get(set);
  if (always === undefined) {
    const all = [...config.backends.values()].flatMap((backend) => [...backend.credentials, ...backend.headers]);
    const names = new Set(set.map(([name]) => name));
    // Envoy may hide a client's credentials from us and still pass them on, so they are removed unseen.
    const remove = new Set([...CREDENTIAL_HEADERS, ...all.map(([name]) => name)]);
    always = { remove: [...remove].filter((name) => !names.has(name)), set: names };
    bySet.set(set, always);
  }
  return always;
}

/**
 * What to remove from the head of a try so that neither the client's secrets nor an earlier attempt's headers travel on:
 * Envoy keeps what attempt 1 changed when it tries again. `set` is what the try sets instead.
 */
export function headersToRemove(config: Snapshot, head: RequestHead, set: readonly HeaderPair[]): readonly string[] {
  const always = alwaysOf(config, set);
  let remove: string[] | null = null;
  for (const [name] of head.headers) {
    if (!isPrivate(name) || always.set.has(name) || (remove ?? always.remove).includes(name)) continue;
    remove ??= [...always.remove];
    remove.push(name);
  }
  return remove ?? always.remove;
}

function isPrivate(name: string): boolean {
  if (CLIENT_ONLY.has(name)) return true;
  for (const prefix of PRIVATE_PREFIXES) if (name.startsWith(prefix)) return true;
  return false;
}
