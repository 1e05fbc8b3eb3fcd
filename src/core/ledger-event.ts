import type { OperationId } from './ids.ts';
import type { MicroUnits } from './money.ts';

/** `tenant`: booked to the client's tenant. `gateway`: an attempt thrown away, our own cost. */
export type ChargedTo = 'tenant' | 'gateway';

export type LedgerStatus = 'complete' | 'client_aborted' | 'partial' | 'error';

/** One cost event. Written once with the settlement of its operation. */
export interface LedgerEvent {
  readonly operation: OperationId;
  /** The id that the client saw in `x-request-id`. */
  readonly requestId: string;
  /** 1 for the first try; 0 when no attempt was made (an answer of our own). */
  readonly attempt: number;
  readonly chargedTo: ChargedTo;
  readonly status: LedgerStatus;
  readonly tenant: string;
  readonly subject: string;
  readonly businessLine: string;
  readonly requestType: string;
  readonly route: string;
  readonly requestedModel: string;
  readonly model: string;
  readonly backend: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  /** True when the tokens are our estimate, not the upstream's word. */
  readonly estimated: boolean;
  /** Why the upstream's usage was not taken as it came, and what it said (bounded). */
  readonly usageFlag: string | null;
  readonly cost: MicroUnits;
  readonly currency: string;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
  /** Unix time in milliseconds, by our clock; the store adds its own. */
  readonly time: number;
}
