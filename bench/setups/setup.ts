/** Other gateways, which are measured only when they are installed. */
export type PeerName = 'envoy-ai-gateway' | 'litellm' | 'portkey' | 'nullplatform';

/** What stands between the load generator and the model server. */
export type SetupName =
  | 'direct'
  | 'envoy'
  | 'echo'
  | 'tokenlat'
  | 'tokenlat-grpc-js'
  | 'tokenlat-2'
  | 'tokenlat-no-limits'
  | 'tokenlat-all-limits'
  | 'tokenlat-minimal'
  | 'tokenlat-spare'
  | 'tokenlat-logged'
  | 'tokenlat-10-tenants'
  | 'tokenlat-10k-tenants'
  | 'tokenlat-1k-routes'
  | PeerName;

/** One of them, running. */
export interface Setup {
  readonly name: SetupName;
  readonly port: number;
  /** Envoy's admin port; null where there is no Envoy. */
  readonly admin: number | null;
  /** What a request to it has instead of, or on top of, the headers of its payload. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Stands before the path of every payload. */
  readonly pathPrefix?: string;
  /** Requests come from so many tenants in turn; absent for one. */
  readonly tenants?: number;
  /** Process ids by role; children of theirs count with them. */
  readonly processes: Readonly<Partial<Record<Role, number>>>;
  /** Tells it which payload comes next. */
  prepare(payload: string): Promise<void>;
}

/** Whose CPU time is counted. `gateway`: one that is a proxy by itself. */
export type Role = 'ext_proc' | 'envoy' | 'redis' | 'gateway';
