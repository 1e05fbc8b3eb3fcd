import { CREDENTIAL_HEADERS } from '../../core/credential-headers.ts';
import type { HeaderPair } from '../../core/http.ts';
import type { Principal } from '../../core/principal.ts';

/** A request as it is kept, with who sent it as their credential said then. */
export interface KeptRequest {
  readonly path: string;
  readonly headers: readonly HeaderPair[];
  /** Base64. */
  readonly body: string;
  /** The model asked for. */
  readonly model?: string;
  readonly who: Principal;
}

/** An answer as it is kept. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** UTF-8. */
  readonly body: string;
}

/** Of one connection, of the body's way to us, or set anew when a job is run. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  ...CREDENTIAL_HEADERS,
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
  'content-encoding',
  'accept-encoding',
  'grpc-timeout',
  'prefer',
  'x-request-id',
]);
const NOT_KEPT_PREFIX = /^(?::|proxy-|x-envoy-|x-forwarded-|x-real-|x-tokenlat-|x-gateway-destination-)/;
/** What may be sent as the value of a header. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Is it a header of the request itself? Rules may read any, so all are kept by which it would have been served. */
export const isKept = (header: string, value: string): boolean =>
  !NOT_KEPT.has(header) && !NOT_KEPT_PREFIX.test(header) && SENDABLE.test(value);

export function writeRequest({ who, ...request }: KeptRequest): string {
  return JSON.stringify({ ...request, who: { ...who, scopes: [...who.scopes] } });
}

export function readRequest(text: string): KeptRequest {
  const { who, ...request } = JSON.parse(text) as Omit<KeptRequest, 'who'> & {
    readonly who: Omit<Principal, 'scopes'> & { readonly scopes: readonly string[] };
  };
  const claims = Object.freeze(Object.assign(Object.create(null) as object, who.claims)) as Principal['claims'];
  return { ...request, who: { ...who, claims, scopes: new Set(who.scopes) } };
}
