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
  /** All claims, for expressions. Own keys only, frozen. */
  readonly claims: Readonly<Record<string, unknown>>;
}
