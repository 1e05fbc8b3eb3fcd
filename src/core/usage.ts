/**
 * Tokens of one answer in disjoint and non-disjoint parts, as OpenAI counts them: `cached` is part of `prompt`,
 * `reasoning` is part of `completion`. Whole numbers >= 0.
 */
export interface Usage {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  readonly reasoning: number;
  /** `upstream` told it, or we made an `estimate` because it was missing, odd or not yet there. */
  readonly source: 'upstream' | 'estimate';
}

export const NO_USAGE: Usage = { prompt: 0, cached: 0, completion: 0, reasoning: 0, source: 'upstream' };

export function totalTokens(usage: Usage): number {
  return usage.prompt + usage.completion;
}
