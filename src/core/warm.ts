/** What a request finds warm, or makes warm, where it is served. */
export interface Warm {
  /** Hashes: a chain, each key standing for all before it too; or just one (a session, a model). */
  readonly keys: readonly number[];
  /** Tokens of the prompt that a key stands for: what is warm need not be read. 0 = not known. */
  readonly tokensAKey: number;
  /** The one key is a model: where it is not, it must be loaded before anything is answered. */
  readonly mustLoad?: boolean;
}

export const NOTHING_WARM: Warm = { keys: [], tokensAKey: 0 };
