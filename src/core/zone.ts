/**
 * What a backend is for. `hot`: requests that somebody waits for. `batch`: work that may wait. `gray`: nothing but what is
 * led there on purpose.
 */
export const ZONES = ['hot', 'batch', 'gray'] as const;
export type Zone = (typeof ZONES)[number];

/** Who may use what. Saturation is the part of the requests at once that run, 0..1. */
export interface ZoneRules {
  /** Types of request that are batch work. */
  readonly batchTypes: ReadonlySet<string>;
  /** Batch work may use hot backends while their saturation is below this. */
  readonly hotBelow: number;
  /** Hot requests may use batch backends from this saturation of the hot ones on; null = never. */
  readonly spillAbove: number | null;
  /** What batch work is told that finds no room: when to come again. */
  readonly retryAfterMs: number;
}
