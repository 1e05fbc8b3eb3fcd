import type { GatewayError } from './error.ts';
import type { LedgerEvent } from './ledger-event.ts';
import type { AttemptRecord } from './trail.ts';
import type { Usage } from './usage.ts';

/** Who cut a request short. */
export type CutBy = 'client' | 'deadline' | 'upstream' | 'shutdown';

/** How a request ended. `usage` is the client's: of the attempt that served. */
export type Ending = {
  /** HTTP status that the client saw; 0 when it left before one. */
  readonly status: number;
  readonly usage: Usage;
  /** Why the upstream's own usage was not taken as it came. */
  readonly usageFlag: string | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
  readonly attempts: readonly AttemptRecord[];
  /** What goes into the ledger with the settlement: one for the client, one for each try thrown away. */
  readonly events: readonly LedgerEvent[];
} & (
  | { readonly kind: 'complete' }
  | { readonly kind: 'cut'; readonly by: CutBy }
  | { readonly kind: 'failed'; readonly error: GatewayError }
);
