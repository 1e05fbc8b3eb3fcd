import type { LimitUnit, LimitWindow } from './limit.ts';
import type { MicroUnits } from './money.ts';
import type { RolloutState, RolloutTerms } from './rollout.ts';
import type { StageDecision } from './stage.ts';

/** A limit as an operator writes it down. Amounts are whole: requests, tokens, or micro-units of the currency of prices. */
export interface LimitRule {
  readonly unit: LimitUnit;
  readonly window: LimitWindow;
  readonly limit: number;
  /** Only for requests for this model; null = for all together. */
  readonly model: string | null;
}

/** What every stored record has. `version` counts its writes, from 1: the ETag of the admin API. */
export interface Stored {
  readonly version: number;
  /** Unix milliseconds of the first and the last write. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A client's long-lived secret `sk-tl-…`; only its SHA-256 is kept. */
export interface KeyRecord extends Stored {
  /** `key_<20 hex>`: named in logs, audit and URLs. */
  readonly id: string;
  readonly name: string;
  readonly sha256: string;
  /** The first characters of the secret and its last four, to be recognised by. */
  readonly hint: string;
  readonly tenant: string;
  readonly subject: string;
  /** Name of a line of that tenant. */
  readonly businessLine: string | null;
  readonly models: readonly string[];
  readonly scopes: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  readonly limits: readonly LimitRule[];
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** After a rotation: the old secret's hash, and until when it still opens. */
  readonly previous: { readonly sha256: string; readonly until: number } | null;
}

export interface TenantRecord extends Stored {
  readonly name: string;
  readonly tier: string;
  readonly limits: readonly LimitRule[];
  /** For each subject of the tenant on its own. */
  readonly subjectLimits: readonly LimitRule[];
}

/** What a business line may cost: only candidates of its rank or cheaper. */
export type CostTier = 'core' | 'standard' | 'economy';

/** A part of a tenant that answers for its own spending. */
export interface LineRecord extends Stored {
  readonly tenant: string;
  readonly name: string;
  readonly costTier: CostTier;
  readonly limits: readonly LimitRule[];
  /** Where alerts of its budgets go: names of channels in the configuration. */
  readonly channels: readonly string[];
}

export interface BudgetRecord extends Stored {
  /** `budget_<20 hex>`. */
  readonly id: string;
  readonly tenant: string;
  /** null = for the whole tenant. */
  readonly businessLine: string | null;
  readonly period: 'day' | 'month';
  readonly amount: MicroUnits;
  readonly currency: string;
  /** Percentages at which an alert is raised, once a period. */
  readonly alertsAt: readonly number[];
}

/** Where a deployment stands, as an operator or the configuration led it there. */
export interface DeploymentRecord extends Stored, StageDecision {
  /** `<model>@<backend>`. */
  readonly id: string;
}

/** The roll-out of a configuration that is under way, or was the last one. */
export interface RolloutRecord extends Stored, RolloutTerms, RolloutState {
  /** There is one at most. */
  readonly id: 'current';
}

export type DirectoryRecord =
  | ({ readonly kind: 'key' } & KeyRecord)
  | ({ readonly kind: 'tenant' } & TenantRecord)
  | ({ readonly kind: 'line' } & LineRecord)
  | ({ readonly kind: 'budget' } & BudgetRecord)
  | ({ readonly kind: 'deployment' } & DeploymentRecord)
  | ({ readonly kind: 'rollout' } & RolloutRecord);

export type DirectoryKind = DirectoryRecord['kind'];

/** The id of a record, as stores name it. */
export function recordId(record: DirectoryRecord): string {
  switch (record.kind) {
    case 'tenant':
      return record.name;
    case 'line':
      return `${record.tenant}/${record.name}`;
    case 'key':
    case 'budget':
    case 'deployment':
    case 'rollout':
      return record.id;
    default:
      return record satisfies never;
  }
}
