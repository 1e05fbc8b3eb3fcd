import type { z } from 'zod';
import type { AdminRole } from '../core/admin-settings.ts';
import type { Caller } from './access/caller.ts';
import type { Json } from '../core/json.ts';
import type { AdminDeps } from './admin-deps.ts';

/**
 * Who may use a route. `tenant` says where the tenant stands that the request is about: a caller of one tenant comes in for
 * that tenant only. `record`: the route loads a record and asks for its tenant. `none`: for callers of all tenants only.
 * `any`: about no tenant at all, for every caller. `files`: of a page, which loads dozens of them at once.
 */
export type Rule =
  | { readonly kind: 'public'; readonly files?: true }
  | {
      readonly kind: 'role';
      readonly role: AdminRole;
      readonly tenant: 'path' | 'query' | 'body' | 'record' | 'none' | 'any';
    };

/** A checked request. */
export interface AdminRequest<P, Q, B> {
  readonly caller: Caller;
  /** The only tenant whose things may be touched; null = all. */
  readonly tenant: string | null;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** `If-Match`: versions, or `any`; null = not sent. */
  readonly ifMatch: readonly number[] | 'any' | null;
  readonly deps: AdminDeps;
}

export interface AdminReply {
  readonly body: unknown;
  /** Version of the record in the body, for `ETag`. */
  readonly version?: number;
  readonly location?: string;
  /** Sent instead of the body, as it is. */
  readonly text?: {
    readonly type: string;
    readonly content: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

type Shape = z.ZodObject | null;
type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

export interface RouteSpec<P extends Shape, Q extends Shape, B extends Shape> {
  /** Also the operation's name in the audit and OpenAPI: `key.create`. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/admin/keys/{id}` */
  readonly path: `/admin/${string}` | '/ui' | `/ui/${string}`;
  readonly summary: string;
  readonly description?: string;
  readonly rule: Rule;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Writes to a record that is there say which version they saw. */
  readonly ifMatch?: 'required' | 'optional';
  readonly reply: {
    readonly status: 200 | 201;
    /** What goes out: fields that it does not name do not. */
    readonly schema: z.ZodType;
    /** A field that is told once and never kept. */
    readonly secret?: string;
    readonly etag?: boolean;
    /** Other content types that the route may answer with. */
    readonly also?: readonly string[];
    /** The same for everybody until the process ends: with an `ETag`, a repetition is answered by 304. */
    readonly static?: boolean;
  };
  /** What the audit keeps of a body that may hold secrets. Default: all of it. */
  readonly audited?: (body: unknown) => Json;
  /** Bytes of a body. Default: 64 KiB. */
  readonly maxBody?: number;
  readonly run: (request: AdminRequest<Out<P>, Out<Q>, Out<B>>) => Promise<AdminReply>;
}

/** A route as the table holds it. */
export type AdminRoute = Omit<RouteSpec<Shape, Shape, Shape>, 'run'> & {
  readonly run: (request: AdminRequest<unknown, unknown, unknown>) => Promise<AdminReply>;
};

/** Ties the types of a route's parts together. */
export function route<P extends Shape, Q extends Shape, B extends Shape>(spec: RouteSpec<P, Q, B>): AdminRoute {
  // Only `dispatch` calls `run`, with what these very schemas have checked.
  return spec as unknown as AdminRoute;
}

export const isWrite = ({ method }: Pick<AdminRoute, 'method'>): boolean => method !== 'GET';
