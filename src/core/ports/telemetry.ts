import type { Classified } from '../classifier.ts';
import type { Arrived, RequestContext } from '../context.ts';
import type { Ending } from '../ending.ts';
import type { Json } from '../json.ts';
import type { LedgerEvent } from '../ledger-event.ts';
import type { Priority, QueueRefusal } from '../priority.ts';
import type { SurgeAction } from '../surge.ts';

/** Structured log lines. Fields never hold secrets or prompts: the adapter redacts by key as a second fence. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  /** `json`: the fields as `JSON.stringify` writes them, where somebody has made that already. */
  info(message: string, fields?: LogFields, json?: string): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}
export type LogFields = Readonly<Record<string, Json | undefined | Error>>;

/** Figures that the flow and stations report. Labels are bounded by the adapter. */
export interface Metrics {
  /** Once for each finished request. */
  request(ctx: Partial<RequestContext> & Arrived, ending: Ending): void;
  /** ext_proc streams open right now, by level. */
  streams(level: 'request' | 'attempt', delta: 1 | -1): void;
  /** Something that should not happen, by a name from the code (`unknown_attempt`, `late_settlement`). */
  anomaly(kind: string): void;
  /** `open` or `closed`: the breaker in front of the store. */
  storeState(state: 'up' | 'down'): void;
  quotaDenied(limit: string): void;
  /** Requests that a deployment runs, as far as it has a bound. */
  slots(deployment: string, running: number): void;
  /** Requests that wait for a model. */
  queue(model: string, priority: Priority, waiting: number): void;
  /** One got its turn after so many milliseconds. */
  waited(priority: Priority, ms: number): void;
  queueRefused(model: string, reason: QueueRefusal): void;
  /** This worker's share of a deployment's rate, units a second. */
  rateShare(deployment: string, unit: 'tokens' | 'requests', share: number): void;
  /** A breaker changed. `state`: 0 closed, 1 on its way back, 2 open for probes, 3 open. */
  breaker(deployment: string, kind: string, state: 0 | 1 | 2 | 3): void;
  /** A deployment was passed over in a decision. */
  leftOut(deployment: string, reason: string): void;
  /** A deployment took a request and never answered, so that it was played again elsewhere. */
  replayed(deployment: string): void;
  /**
   * A try of a model that its server loads when asked: was it loaded (`warm`), or had it to be first (`cold`)? `seconds` to its first
   * token, or to the end of a whole answer; null when none came.
   */
  loadedTry(model: string, state: 'warm' | 'cold', seconds: number | null): void;
  /** Something was paid that belongs to no request. */
  spent(event: LedgerEvent): void;
  /** The load of all workers, as this one knows it: the level, and requests a second. */
  surge(level: number, rate: number): void;
  /** Something was done about a request because of high load. */
  surgeAction(action: SurgeAction): void;
  /** What being warm did to a decision for a model: `hit`, `miss`, or `gated` where who is warm has too much to do or is not well. */
  affinity(model: string, outcome: 'hit' | 'miss' | 'gated'): void;
  /** A request was put in a class, which took so many milliseconds. */
  classified(classified: Classified, ms: number): void;
}
