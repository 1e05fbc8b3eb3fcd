import type { LevelLimit } from './limit-levels.ts';

/** What one request of these processes reserves, and what it comes to. */
export const RESERVED = { requests: 1, tokens: 30, spend: 50 } as const;
export const USED = { requests: 1, tokens: 15, spend: 20 } as const;

/** To a process that admits: ask so often at once, or end what was admitted. */
export type AdmitOrder =
  | { readonly kind: 'admit'; readonly tenant: string; readonly count: number; readonly limits: readonly LevelLimit[] }
  | { readonly kind: 'finish' };

export interface AdmitAnswer {
  readonly held: number;
  readonly denied: number;
  /** Refusals that were none of a limit. */
  readonly odd: readonly string[];
}
