/** Answers of the admin API, as far as pages look at them. Times are texts in UTC, money whole micro-units. */

export interface List<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

export interface Status {
  readonly version: string;
  readonly now: string;
  /** IANA name of the zone that days of the ledger are in. */
  readonly zone: string;
  readonly role: string;
  /** null = all tenants. */
  readonly tenant: string | null;
  /** null = no audit log is kept. */
  readonly audit: { readonly state: string } | null;
}

export interface SpendRow {
  readonly at: string;
  readonly keys: Readonly<Record<string, string | undefined>>;
  readonly currency: string;
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly cost_micros: number;
}

export interface TopRequest {
  readonly request_id: string;
  readonly tenant: string;
  readonly model: string;
  readonly backend: string;
  readonly business_line: string;
  readonly at: string;
  readonly total_tokens: number;
  readonly cost_micros: number;
  readonly currency: string;
}

export interface BudgetState {
  readonly from: string;
  readonly to: string;
  readonly spent_micros: number;
  readonly percent: number;
  readonly forecast_micros: number;
  readonly exhausted_at: string | null;
  readonly protected: boolean;
}

export interface Budget {
  readonly id: string;
  readonly tenant: string;
  readonly business_line: string | null;
  readonly period: 'day' | 'month';
  readonly amount_micros: number;
  readonly currency: string;
  readonly alerts_at: readonly number[];
  /** null where it cannot be measured. */
  readonly state?: BudgetState | null;
}

export interface QuotaLine {
  readonly name: string;
  readonly scope: string;
  readonly unit: 'requests' | 'tokens' | 'spend';
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: string;
}

export interface Quotas {
  readonly tenant: string;
  readonly data: readonly QuotaLine[];
}

export interface LiveRow {
  readonly route: string;
  readonly model: string;
  readonly deployment: string | null;
  readonly backend: string | null;
  readonly running: number;
  readonly requests_per_minute: number;
  readonly errors_per_minute: number;
  readonly tokens_per_minute: number;
  readonly latency_ms_p50: number | null;
  readonly latency_ms_p95: number | null;
  readonly first_token_ms_p50: number | null;
  /** Of a model that is loaded when asked for; null of others. */
  readonly cold_share: number | null;
  readonly warm_ms_p95: number | null;
}

export interface Live {
  readonly at: string;
  readonly replicas: readonly {
    readonly id: string;
    readonly started_at: string;
    readonly workers: number;
    readonly running: number;
  }[];
  readonly data: readonly LiveRow[];
  readonly queues: readonly QueueRow[];
  /** Null: there are none, or they cannot be counted now. */
  readonly jobs: JobRow | null;
}

export interface JobRow {
  readonly queued: number;
  readonly running: number;
  readonly failed: number;
  readonly oldest_ms: number | null;
}

export interface QueueRow {
  readonly model: string;
  readonly interactive: number;
  readonly batch: number;
  readonly oldest_ms: number;
  readonly refused_per_minute: number;
  readonly waited_per_minute: number;
  readonly wait_ms_p95: number | null;
}

export interface Deployment {
  readonly id: string;
  readonly backend: string;
  readonly upstream_model: string;
  readonly weight: number;
  readonly state: string;
  readonly running: number | null;
}

export interface Routing {
  readonly models: readonly {
    readonly name: string;
    readonly stage: string;
    readonly fallback: readonly string[];
    readonly deployments: readonly Deployment[];
  }[];
  readonly routes: readonly {
    readonly id: string;
    readonly models: readonly string[];
    readonly match: string | null;
    readonly candidates: readonly { readonly model: string; readonly weight: number; readonly canary: boolean }[];
    readonly fallback: readonly string[];
  }[];
}

export interface Key {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly status: string;
  readonly tenant: string;
  readonly subject: string;
  readonly business_line: string | null;
  readonly models: readonly string[];
  readonly expires_at: string | null;
  readonly created_at: string;
}

export interface Tenant {
  readonly name: string;
}
