/**
 * Tokens of one answer. Whole numbers >= 0. `prompt` and `completion` are the wholes, as OpenAI counts them; everything else
 * is a part of one of them. Parts of the same whole do not overlap (a cached audio token is `cached`, not `audioPrompt`), and
 * what is left over is text. A part that is left out is 0.
 */
export interface Usage {
  readonly prompt: number;
  /** Part of `prompt`: read from a cache. */
  readonly cached: number;
  /** Part of `prompt`: written to a cache. */
  readonly cacheWrite?: number;
  /** Part of `cacheWrite`: of those, for the cache that keeps longer (an hour instead of minutes). */
  readonly cacheWriteLong?: number;
  /** Part of `prompt`. */
  readonly audioPrompt?: number;
  /** Part of `prompt`. */
  readonly imagePrompt?: number;
  readonly completion: number;
  /** Part of `completion`. */
  readonly reasoning: number;
  /** Part of `completion`. */
  readonly audioCompletion?: number;
  /** Part of `completion`. */
  readonly imageCompletion?: number;
  /** `upstream` told it, or we made an `estimate` because it was missing, odd or not yet there. */
  readonly source: 'upstream' | 'estimate';
}

export const NO_USAGE: Usage = { prompt: 0, cached: 0, completion: 0, reasoning: 0, source: 'upstream' };

export function totalTokens(usage: Usage): number {
  return usage.prompt + usage.completion;
}
