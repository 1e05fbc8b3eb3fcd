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

/** Of a client's headers, what says how its request shall be served. */
const KEPT: ReadonlySet<string> = new Set([
  'content-type',
  'x-request-type',
  'x-app-id',
  'x-user-level',
  'x-request-region',
  'x-business-line',
  'x-enable-rag',
  'x-request-timeout-ms',
  'x-session-id',
  'x-canary-percentage',
  'x-accept-adapted',
]);

export const isKept = (header: string): boolean => KEPT.has(header);

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
