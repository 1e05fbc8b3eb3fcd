import type { Admin } from './admin-settings.ts';
import type { Audit } from './audit-settings.ts';
import type { BreakerRules } from './breaker-policy.ts';
import type { Classifier } from './classifier.ts';
import type { Concurrency, Queue, Rates } from './deployment-limits.ts';
import type { CostTier } from './directory.ts';
import type { Endpoint, Pool } from './endpoint.ts';
import type { HeaderPair } from './http.ts';
import type { Jobs } from './job.ts';
import type { LimitUnit, LimitWindow } from './limit.ts';
import type { Price } from './money.ts';
import type { Priority, PriorityPolicy } from './priority.ts';
import type { Probes } from './probes.ts';
import type { RouteScore } from './score-policy.ts';
import type { Stage } from './stage.ts';
import type { SurgePolicy } from './surge.ts';
import type { ReplayRule, Retry } from './retry.ts';
import type { Zone, ZoneRules } from './zone.ts';

/**
 * A checked configuration, frozen; one per generation, and one request sees one generation. Times are milliseconds,
 * sizes bytes. `config/` makes it from tokenlat.yaml, whose keys are the snake_case of these.
 */
export interface Snapshot {
  /** Counts up with each reload of this process, from 1. */
  readonly generation: number;
  /** SHA-256 of the effective file content, hex. */
  readonly digest: string;
  /** SHA-256 of the file's own text as written, hex: the same on every server that has it. */
  readonly source?: string;
  readonly listen: Listen;
  readonly server: Server;
  readonly redis: Redis | null;
  readonly auth: Auth;
  readonly tenants: ReadonlyMap<string, Tenant>;
  /** For tenants that are not named. */
  readonly tenantDefaults: Tenant;
  readonly backends: ReadonlyMap<string, Backend>;
  readonly models: ReadonlyMap<string, Model>;
  /** Other names for models: alias to model name. */
  readonly aliases: ReadonlyMap<string, string>;
  /** By name. */
  readonly classifiers: ReadonlyMap<string, Classifier>;
  /** The last may be the default. */
  readonly routes: readonly Route[];
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly retry: Retry;
  readonly breakers: BreakerRules;
  /** Which requests can wait for others. */
  readonly priorities: PriorityPolicy;
  /** What is done under high load; null = nothing. */
  readonly surge: SurgePolicy | null;
  /** Who may use which backends; left out: everybody all of them. */
  readonly zones?: ZoneRules;
  /** Requests that nobody waits for; left out: there are none. */
  readonly jobs?: Jobs;
  readonly filter: Filter;
  /** What `model` says in an answer. */
  readonly responses: { readonly model: 'requested' | 'served' | 'upstream' };
  readonly ledger: Ledger;
  readonly budgets: Budgets;
  readonly telemetry: Telemetry;
  /** The admin API; null = there is none. */
  readonly admin: Admin | null;
  /** Null: no audit log. */
  readonly audit: Audit | null;
}

/** Envoy's listener for clients. */
export interface Listen {
  readonly address: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Envoy's admin listener: loopback only. */
  readonly adminPort: number;
}

/** Our own side of ext_proc and the processes behind it. */
export interface Server {
  /** Processes that serve ext_proc. At least 1. */
  readonly workers: number;
  /** `unix`: one socket a worker in `socketDir`. `tcp`: one port a worker from `port` on. */
  readonly transport:
    | { readonly kind: 'unix'; readonly socketDir: string }
    | { readonly kind: 'tcp'; readonly address: string; readonly port: number; readonly mtls: MutualTls | null };
  /** Who speaks gRPC to Envoy: our own server, or grpc-js. */
  readonly grpc: 'lean' | 'grpc-js';
  /** Plain HTTP for `/healthz`, `/readyz`, `/metrics`. */
  readonly ops: { readonly address: string; readonly port: number };
  /** How long a drain may take. */
  readonly drainMs: number;
  /** Envoy's patience for one answer of ours; every wait of ours is shorter. */
  readonly messageTimeoutMs: number;
}

export interface MutualTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface Redis {
  readonly url: string;
  readonly sentinel: { readonly name: string; readonly nodes: readonly { host: string; port: number }[] } | null;
  readonly cluster: readonly { host: string; port: number }[] | null;
  readonly commandTimeoutMs: number;
  readonly keyPrefix: string;
}

export type OnStoreError = 'deny' | 'allow';

export interface Auth {
  readonly issuers: readonly Issuer[];
  readonly apiKeys: readonly ApiKey[];
  readonly clockSkewMs: number;
  /** Verdicts kept, and for how long at most. */
  readonly cache: { readonly entries: number; readonly ttlMs: number };
}

export type JwtAlgorithm =
  | 'HS256'
  | 'HS384'
  | 'HS512'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA';

export interface Issuer {
  readonly issuer: string;
  /** One exact member of `aud` must be among these; empty = not checked (only for HS issuers of development). */
  readonly audience: readonly string[];
  /** HS algorithms or asymmetric ones, never both. */
  readonly algorithms: readonly JwtAlgorithm[];
  /** Required `typ` of the header, lower-case without `application/`; null = any but an ID token's. */
  readonly typ: string | null;
  readonly keys:
    | {
        readonly kind: 'jwks-url';
        readonly url: string;
        readonly refreshMs: number;
        readonly cooldownMs: number;
        readonly maxStaleMs: number;
        readonly timeoutMs: number;
      }
    | { readonly kind: 'jwks-file'; readonly path: string }
    /** Raw bytes of the shared secret. */
    | { readonly kind: 'secret'; readonly secret: Uint8Array }
    /** A command that prints the secret (a KMS helper); run at load and every `refreshMs`. */
    | {
        readonly kind: 'exec';
        readonly command: readonly string[];
        readonly refreshMs: number;
        readonly timeoutMs: number;
      };
  /** Which claim holds what. Defaults: sub, tenant, models, tier, business_line, scope, quota_daily. */
  readonly claims: Readonly<Record<'tenant' | 'models' | 'tier' | 'businessLine' | 'scope' | 'quotaDaily', string>>;
}

/** A long-lived secret of a client, known by its SHA-256 only. */
export interface ApiKey {
  readonly name: string;
  readonly sha256: string;
  readonly tenant: string;
  readonly subject: string;
  readonly models: readonly string[];
  readonly scopes: readonly string[];
  readonly businessLine: string | null;
  readonly quotaDaily: number | null;
}

export interface TenantLimit {
  readonly unit: LimitUnit;
  readonly window: LimitWindow;
  readonly limit: number;
  /** `tenant`: all of it together. `subject`: each subject on its own. `line`: all of `businessLine` together. */
  readonly per: 'tenant' | 'subject' | 'line';
  readonly businessLine?: string;
  /** Only for requests for this model; left out for all together. */
  readonly model?: string;
}

export interface Tenant {
  readonly name: string;
  readonly tier: string;
  readonly businessLine: string;
  readonly limits: readonly TenantLimit[];
}

export interface Backend {
  /** Also the name of Envoy's cluster. */
  readonly name: string;
  readonly dialect: string;
  /** What it is for; left out: `hot`. */
  readonly zone?: Zone;
  readonly endpoints: readonly Endpoint[];
  /** Path of the endpoint URLs, without a trailing slash (`/v1` or empty). */
  readonly basePath: string;
  readonly tls: boolean;
  readonly http2: boolean;
  /** The gateway itself picks among the endpoints; left out: Envoy does. */
  readonly pool?: Pool;
  /** Envoy's check. */
  readonly health: HealthCheck | null;
  /** What the gateway itself looks at; left out: nothing. */
  readonly probes?: Probes;
  /** Models that it loads when asked. */
  readonly loads?: { readonly most: number | null; readonly keepMs: number };
  /** Set on each attempt at this backend and on no other. */
  readonly credentials: readonly HeaderPair[];
  /** Extra headers, likewise. */
  readonly headers: readonly HeaderPair[];
  /** Dialect options (`api: generate`, `version`), as the dialect's README says. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
}

export interface HealthCheck {
  readonly path: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly unhealthyAfter: number;
  readonly healthyAfter: number;
}

export interface Model {
  readonly name: string;
  readonly stage: Stage;
  readonly balance: 'weight' | 'load';
  /** By what a request is recognised where it was served before; only where requests go by load or score. */
  readonly affinity: 'none' | 'session' | 'prefix' | 'model';
  /** Best first where weights are equal to 0; else shared by weight. Never empty. */
  readonly deployments: readonly Deployment[];
  /** Models to try when all deployments of this one failed. */
  readonly fallback: readonly string[];
}

/** A model on a backend. */
export interface Deployment {
  /** `<model>@<backend>`. */
  readonly id: string;
  readonly model: string;
  readonly backend: Backend;
  /** The model's name there. */
  readonly upstreamModel: string;
  /** As configured; an operator may have decided otherwise. Left out: `full`. */
  readonly stage?: Stage;
  /** Of the subjects, percent, while it is gray. Left out: 0. */
  readonly percent?: number;
  readonly weight: number;
  /** Name of a chat template, for dialects that render the prompt themselves. */
  readonly chatTemplate: string | null;
  readonly price: Price;
  readonly profile: Profile;
  readonly concurrency: Concurrency | null;
  /** Left out: none. */
  readonly rates?: Rates | null;
  /** Left out: nobody waits. */
  readonly queue?: Queue;
  /** Its class of cost: which business lines may use it. */
  readonly costTier: CostTier;
}

export interface Profile {
  /** Usual times, believed until there are figures; null = not known. */
  readonly p95Ms: number | null;
  readonly firstTokenMs: number | null;
  readonly tokenMs: number | null;
  /** 0..1. */
  readonly quality: number;
  /** By class or type of request. */
  readonly qualityFor: ReadonlyMap<string, number>;
  /** Tokens that prompt and answer may have together; 0 = not known, not checked. */
  readonly context: number;
  /** What the upstream generates when the client sets no bound. */
  readonly defaultMaxTokens: number;
}

export interface RouteCandidate {
  readonly model: string;
  /** Whole number >= 0: share among the candidates. */
  readonly weight: number;
  readonly canary: boolean;
}

export interface Route {
  readonly id: string;
  /** Requested names for which the route is looked at: exact or with `*`. */
  readonly models: readonly string[];
  /** CEL source; null = always. */
  readonly match: string | null;
  readonly candidates: readonly RouteCandidate[];
  readonly fallback: readonly string[];
  /** Whose requests are drawn alike, each time; left out: nobody's. */
  readonly split?: 'session' | 'tenant';
  /** The zone that its requests belong to; left out: by their type. */
  readonly zone?: Zone;
  readonly onStoreError: OnStoreError;
  readonly timeoutMs: number | null;
  readonly protect: Protect;
  /** Under high load: may a light model serve, may fewer choices be given than asked for? */
  readonly divert: boolean;
  readonly reduceN: boolean;
  /** Null: as `retry` says. */
  readonly replay: ReplayRule | null;
  /** What its requests are; null: what their tenants and clients say. */
  readonly priority?: Priority | null;
  /** Candidates by score; null: by the weights of the candidates. */
  readonly score: RouteScore | null;
  /** Sorts its requests into classes, some of which have a score of their own; null = nothing does. */
  readonly classifier: Classifier | null;
  readonly scoreFor: ReadonlyMap<string, RouteScore>;
}

/** What happens to requests of a line whose budget is used up: cheaper candidates only, a refusal, or nothing. */
export type Protect = 'cheaper' | 'deny' | 'none';

export interface Limits {
  readonly bodyBytes: number;
  readonly responseBytes: number;
  readonly eventBytes: number;
  readonly headerBytes: number;
  readonly jsonDepth: number;
  /** Keys of all objects of a body together. */
  readonly jsonKeys: number;
}

export interface Timeouts {
  /** From the request's arrival to the end of its answer. */
  readonly requestMs: number;
  /** The most that `x-request-timeout-ms` may ask for. */
  readonly maxRequestMs: number;
  /** Silence of an upstream, before and between its bytes. */
  readonly idleMs: number;
  readonly connectMs: number;
  /** A host that acknowledges nothing for so long is gone. */
  readonly deadHostMs: number;
}

export interface Filter {
  readonly enabled: boolean;
  /** Words and phrases, as written. */
  readonly terms: readonly string[];
}

export interface Ledger {
  /** A reservation that nobody settles is ended after this long without a sign of life. */
  readonly leaseMs: number;
  /** What an ended reservation costs: its estimate, or nothing. */
  readonly onCrash: 'charge' | 'release';
  /** Events kept per tenant, about. */
  readonly maxEvents: number;
  /** How long settled operations and traces are remembered. */
  readonly keepMs: number;
  /** For what runs on no named route: a request whose store is gone. */
  readonly onStoreError: OnStoreError;
  /** For requests while the store has lost what it held and nobody has acknowledged it. */
  readonly onStateLost: 'auto' | 'deny' | 'continue';
  /** IANA name of the zone whose days and months limits, budgets and reports go by. */
  readonly zone: string;
  /** Where events go beyond the store; null = nowhere. */
  readonly sink: LedgerSinkSettings | null;
}

/** An engine that takes every event of the ledger. */
export interface LedgerSinkSettings {
  readonly kind: 'clickhouse';
  readonly url: string;
  readonly database: string;
  readonly table: string;
  readonly user: string | null;
  readonly password: string | null;
  readonly createTable: boolean;
  readonly engine: 'ReplacingMergeTree' | 'ReplicatedReplacingMergeTree' | 'SharedReplacingMergeTree';
  readonly ttlDays: number | null;
  /** PEM; null = the authorities of the system. */
  readonly ca: string | null;
  /** Events of one insert. */
  readonly batch: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Events kept per tenant at the most while they are not sent. */
  readonly keepUnsent: number;
  readonly allowLinkLocal: boolean;
}

export interface Budgets {
  /** Percentages for budgets that name none, ascending. */
  readonly alertsAt: readonly number[];
  readonly channels: ReadonlyMap<string, Channel>;
  /** Where alerts of budgets go whose line names no channel. */
  readonly defaultChannels: readonly string[];
}

/** A webhook that takes alerts. */
export interface Channel {
  readonly name: string;
  readonly url: string;
  /** Key of the signature: raw bytes. */
  readonly secret: Uint8Array;
  readonly timeoutMs: number;
  readonly allowLinkLocal: boolean;
}

export interface Telemetry {
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  /** Distinct values that one label may take before it says `other`. */
  readonly labelValues: number;
}
