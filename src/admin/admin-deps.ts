import type { BudgetRecord, KeyRecord, RolloutRecord } from '../core/directory.ts';
import type { Endpoint } from '../core/chat-request.ts';
import type { Decision, Judged } from '../core/decision.ts';
import type { Json } from '../core/json.ts';
import type { LimitLine } from '../core/limit.ts';
import type { AuditEntry, AuditLog } from '../core/ports/audit.ts';
import type { BudgetStanding } from '../core/ports/budget-state.ts';
import type { DirectoryStore } from '../core/ports/directory-store.ts';
import type { IdempotencyStore } from '../core/ports/idempotency-store.ts';
import type { JobCounts } from '../core/ports/job-store.ts';
import type { LiveState } from '../core/ports/live.ts';
import type { QuotaStore } from '../core/ports/quota-store.ts';
import type { SpendReader } from '../core/ports/spend-reader.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { TraceStore } from '../core/ports/trace-store.ts';
import type { RolloutPart } from '../core/rollout.ts';
import type { ConfiguredStage } from '../core/stage.ts';
import type { Zone } from '../core/zone.ts';

/** Reading side of the audit, as far as this process can see it. */
export interface AuditReader {
  /** Newest first, from the entry after `after`; at most `count`. `tenant`: only entries whose facts name that tenant. */
  readonly read: (query: {
    readonly tenant: string | null;
    readonly kind: AuditEntry['kind'] | null;
    readonly from: number | null;
    readonly to: number | null;
    readonly after: string | null;
    readonly count: number;
  }) => Promise<readonly { readonly id: string; readonly entry: AuditEntry }[]>;
}

/** What a probe found amiss. */
interface RoutingFinding {
  readonly source: string;
  readonly factor: number;
  readonly reason: string;
  readonly detail: string;
}

/** Models, deployments and routes with what is known of their state now. */
export interface RoutingState {
  readonly models: readonly {
    readonly name: string;
    readonly stage: string;
    readonly fallback: readonly string[];
    readonly deployments: readonly {
      readonly id: string;
      readonly backend: string;
      readonly upstreamModel: string;
      readonly weight: number;
      readonly zone: string;
      readonly stage: string;
      /** Of the subjects, while it is gray. */
      readonly percent: number;
      /** By its tries of the last minute. */
      readonly state: 'healthy' | 'failing' | 'unknown';
      /** Requests running and waiting; null = not known here. */
      readonly running: number | null;
      readonly waiting: number | null;
      /** What probes found, where all is not well. */
      readonly findings: readonly RoutingFinding[];
      /** Of a pool; else left out. */
      readonly endpoints?: readonly {
        readonly address: string;
        readonly zone: string | null;
        readonly state: 'healthy' | 'failing' | 'unknown';
        readonly running: number | null;
        readonly findings: readonly RoutingFinding[];
      }[];
    }[];
  }[];
  readonly routes: readonly {
    readonly id: string;
    readonly models: readonly string[];
    readonly match: string | null;
    readonly candidates: readonly { readonly model: string; readonly weight: number; readonly canary: boolean }[];
    readonly fallback: readonly string[];
  }[];
}

/** A deployment as configured. */
export interface ConfiguredDeployment extends ConfiguredStage {
  readonly id: string;
  readonly model: string;
  readonly backend: string;
  readonly zone: Zone;
}

/** How requests fared under one configuration. */
export interface ShownArm {
  readonly requests: number;
  readonly errors: number;
  /** Null: none was answered. */
  readonly p95Ms: number | null;
}

/** What is known of roll-outs beside their record. */
export interface RolloutDesk {
  /** Reads a configuration as this server would, and says when which part would take effect. */
  readonly check: (text: string) => CheckedCandidate;
  /** How it goes, by the figures of all replicas. */
  readonly standing: (record: RolloutRecord) => Promise<RolloutStanding>;
}

export type CheckedCandidate =
  | {
      readonly ok: true;
      readonly parts: readonly RolloutPart[];
      /** SHA-256 of its text, and of the file that it would replace. */
      readonly digest: string;
      readonly base: string;
      /** False: what was promoted last stands on no disk yet. */
      readonly isFileInForce: boolean;
    }
  | { readonly ok: false; readonly problems: readonly string[] };

export interface RolloutStanding {
  readonly old: ShownArm;
  readonly new: ShownArm;
  readonly verdict: { readonly kind: 'worse' | 'fine' | 'unclear'; readonly words: string };
}

/** How much of the ledger its copy does not have yet. */
export interface SinkStanding {
  /** `behind`: events wait for much longer than the interval at which they are sent; `unknown`: the store does not answer. */
  readonly state: 'ok' | 'behind' | 'unknown';
  readonly lagEvents: number | null;
  /** Age of the oldest of them, milliseconds. */
  readonly lagMs: number | null;
}

/** What serves here. */
export interface ServerStatus {
  readonly version: string;
  /** IANA name of the ledger's zone. */
  readonly zone: string;
  /** null: no prices, or prices in several. */
  readonly currency: string | null;
  readonly generation: number;
  /** null: there is no audit log. */
  readonly audit: 'ok' | 'failing' | null;
  /** The copy of the ledger in a database; null: there is none. */
  readonly sink: SinkStanding | null;
}

/** A request as far as routing looks at it. */
export interface ExplainAsk {
  readonly tenant: string;
  readonly model: string;
  readonly endpoint: Endpoint;
  /** `x-request-type`; null = the endpoint. */
  readonly type: string | null;
  /** As in `x-request-class`. */
  readonly class: string | null;
  /** What a user says, for classifiers and warm caches; null = nothing is known of it. */
  readonly prompt: string | null;
  /** As in `x-session-id`. */
  readonly session: string | null;
  readonly stream: boolean;
  readonly promptTokens: number;
  readonly maxTokens: number | null;
  /** How long it may take; null = as configured. */
  readonly timeoutMs: number | null;
  /** Null = the tenant's. */
  readonly tier: string | null;
  readonly businessLine: string | null;
  readonly scopes: readonly string[];
}

/** What would become of it now. */
export interface Explained {
  /** Null where it is refused. */
  readonly route: string | null;
  readonly reason: Decision['reason'] | null;
  readonly fallbackReason: Decision['fallbackReason'];
  /** Null where the route has no classifier. */
  readonly classified: Decision['classified'];
  /** Deployments in the order in which they would be tried. */
  readonly plan: readonly string[];
  readonly words: string;
  readonly candidates: readonly Judged[];
  readonly refused: { readonly code: string; readonly status: number; readonly message: string } | null;
}

/** What the routes of the admin API lean on. */
export interface AdminDeps {
  readonly directory: DirectoryStore;
  readonly quota: Pick<QuotaStore, 'peek'>;
  readonly spend: SpendReader;
  readonly traces: Pick<TraceStore, 'get'>;
  readonly audit: { readonly log: Pick<AuditLog, 'append' | 'state'>; readonly reader: AuditReader };
  readonly idempotency: IdempotencyStore;
  /** The effective configuration without secrets. */
  readonly config: () => Json;
  readonly routing: () => RoutingState | Promise<RoutingState>;
  readonly rollouts: RolloutDesk;
  /** Every deployment of the configuration in force, in order of id. */
  readonly deployments: () => readonly ConfiguredDeployment[];
  /** What this worker would decide now. */
  readonly explain: (ask: ExplainAsk) => Explained;
  readonly status: () => Promise<ServerStatus>;
  /** Never rejects: while the store is away, what was known last. */
  readonly live: () => Promise<LiveState>;
  /** Null: there are none here, or the store is away. */
  readonly jobs: () => Promise<JobCounts | null>;
  /** Where budgets stand, by id; one that cannot be measured is left out. */
  readonly budgetStandings: (budgets: readonly BudgetRecord[]) => Promise<ReadonlyMap<string, BudgetStanding>>;
  /** Every limit of a tenant: of what is null, all there are; of subject and key none. */
  readonly limitLines: (who: {
    readonly tenant: string;
    readonly subject: string | null;
    readonly model: string | null;
    readonly businessLine: string | null;
    readonly key: KeyRecord | null;
  }) => Promise<readonly LimitLine[]>;
  /** Names of alert channels; null = not checked. */
  readonly channels: (() => readonly string[]) | null;
  /** Start of a day (`2026-11-30`) of the ledger's zone, Unix milliseconds. */
  readonly dayStart: (date: string) => number;
  readonly time: () => number;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}
