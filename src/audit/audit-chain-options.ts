import type { Clock } from '../core/ports/clock.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Checkpointer } from './checkpointer.ts';
import type { OpenSegment } from './segment-writer.ts';

/** Of one process's chain. Times in milliseconds. */
export interface AuditChainOptions {
  readonly dir: string;
  readonly node: string;
  readonly worker: number;
  readonly workers: number;
  readonly segmentBytes: number;
  readonly rotateMs: number;
  readonly keepMs: number;
  readonly checkpoint: { readonly everyMs: number; readonly records: number };
  readonly checkpointer: Checkpointer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  /** How long the first entry of a batch waits for others. */
  readonly gatherMs?: number;
  /** Bound of the queue. */
  readonly queueBytes?: number;
  /** A write that takes longer counts as failing. */
  readonly stallMs?: number;
  readonly open?: OpenSegment;
}
