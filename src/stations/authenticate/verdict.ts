import type { Principal } from '../../core/principal.ts';
import type { KeySource } from './key-cache.ts';

/** Known good. Holds until `expiresAt` (Unix ms) and as long as the source still has the keys of `epoch`. */
export interface Accepted {
  readonly kind: 'accepted';
  readonly principal: Principal;
  readonly expiresAt: number;
  readonly keys: { readonly source: KeySource; readonly epoch: number } | null;
}

/** Known bad. `reason` is for the log of the operator, never for the client. */
export interface Refused {
  readonly kind: 'refused';
  readonly why: 'invalid' | 'expired';
  readonly reason: string;
}

/** What became of a credential. `unavailable`: it could not be checked. */
export type Verdict = Accepted | Refused | { readonly kind: 'unavailable' };

export function refused(reason: string, why: Refused['why'] = 'invalid'): Refused {
  return { kind: 'refused', why, reason };
}
