import type { LimitRule } from './directory.ts';
import type { OperationId } from './ids.ts';
import type { LimitLine } from './limit.ts';

/** Who asks, as a verified credential says. */
export interface Principal {
  readonly subject: string;
  readonly tenant: string;
  readonly tier: string;
  readonly businessLine: string;
  readonly scopes: ReadonlySet<string>;
  /** Patterns as granted: exact names, or with `*` for any run of characters; case-sensitive. */
  readonly models: readonly string[];
  /** The name of the issuer or API key in the configuration, for the audit. */
  readonly credential: string;
  /** Limits that the credential brings itself (`quota_daily`). */
  readonly limits: readonly LimitLine[];
  /** Limits of the key alone, as an operator wrote them: some hold for one model only. */
  readonly limitRules?: readonly LimitRule[];
  /** The key of the directory that opened; null for any other credential. */
  readonly keyId: string | null;
  /** What an operator wrote on that key. */
  readonly tags: Readonly<Record<string, string>>;
  /** The job that runs in its name. */
  readonly job?: { readonly id: string; readonly operation: OperationId };
  /** All claims, for expressions. Own keys only, frozen. */
  readonly claims: Readonly<Record<string, unknown>>;
}
