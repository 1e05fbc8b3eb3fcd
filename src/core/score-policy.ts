/** How a route weighs its candidates. */
export interface ScorePolicy {
  /** Weights of the terms, at least 0; all 0: by load alone. Only their proportions matter. */
  readonly weights: { readonly cost: number; readonly latency: number; readonly quality: number };
  /** What a full target loses, in parts of the whole score. */
  readonly load: number;
  /** What a request may cost before the term is 0, micro-units; null: compared among the candidates. */
  readonly costCeiling: number | null;
  /** Milliseconds at which the latency term is 0; null: compared among the candidates. */
  readonly latencyMs: number | null;
  readonly spread: Spread;
}

/**
 * Who comes first among candidates that are nearly as good. `near`: those within `near` of the best, by their static
 * weights. `two_choices`: of two drawn by weight, the better one. `softmax`: everybody has a chance, the better ones more.
 */
export type Spread =
  | { readonly kind: 'near'; readonly near: number }
  | { readonly kind: 'two_choices' }
  | { readonly kind: 'softmax'; readonly temperature: number };

/** By load and health alone, for targets that are all alike. */
export const LEAST_LOADED: ScorePolicy = {
  weights: { cost: 0, latency: 0, quality: 0 },
  load: 1,
  costCeiling: null,
  latencyMs: null,
  spread: { kind: 'near', near: 0 },
};

/** How a route weighs its candidates, with rules of its own in CEL. */
export interface RouteScore extends ScorePolicy {
  /** In place of the weighted sum; null = the sum. */
  readonly expression: string | null;
  /** Each that is true multiplies what came out. */
  readonly rules: readonly { readonly when: string; readonly multiply: number }[];
}
