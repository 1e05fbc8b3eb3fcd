import type { ProcessFigures } from '../telemetry/sum-metrics.ts';

/** What the primary process and a worker tell each other over their channel. */
export type ToWorker =
  | { readonly kind: 'report'; readonly turn: number }
  /** Asks for a sign of life alone. */
  | { readonly kind: 'ping'; readonly turn: number }
  | { readonly kind: 'drain'; readonly noticeMs: number };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'report'; readonly turn: number; readonly report: WorkerReport }
  | { readonly kind: 'pong'; readonly turn: number };

/** How a worker is. */
export interface WorkerReport {
  readonly worker: number;
  readonly ready: boolean;
  /** Why it is not, or what an operator should know. */
  readonly reasons: readonly string[];
  readonly generation: number;
  readonly requests: number;
  readonly metrics: ProcessFigures;
}
