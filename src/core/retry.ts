/** May a request go elsewhere that a backend took and never answered? `always`, `never`, or CEL source. */
export type ReplayRule = string;

export interface Retry {
  /** Tries after the first, at most 2. */
  readonly retries: number;
  readonly baseMs: number;
  readonly maxMs: number;
  /** The longest `Retry-After` that is waited for. */
  readonly retryAfterCapMs: number;
  /** For routes that have no rule of their own. */
  readonly replay: ReplayRule;
}
