import type { RequestContext } from '../core/context.ts';
import type { ClientDialect } from '../core/dialect.ts';
import type { GatewayError } from '../core/error.ts';
import type { HeaderPair, LocalResponse, RequestHead } from '../core/http.ts';
import type { LimitState } from '../core/limit.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { LiveFigures } from '../core/ports/live.ts';
import type { JobDesk } from '../core/ports/job-desk.ts';
import type { RolloutView } from '../core/ports/rollout.ts';
import type { TryWatch } from '../core/ports/try-watch.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Adapt } from '../stations/adapt/adapt.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { DirectPath } from './direct-path.ts';
import type { Target } from './endpoints.ts';
import type { LiveRequests } from './live-requests.ts';
import type { AnyStation } from './pipeline.ts';
import type { GrowingContext } from './walk.ts';

/** Everything that a flow leans on, built once by the app. */
export interface FlowOptions {
  readonly stations: readonly AnyStation[];
  readonly adapt: Adapt;
  readonly client: ClientDialect;
  /** The configuration in force; a request keeps the one it began with. */
  readonly config: () => Snapshot;
  /** Which configuration serves whom while one is rolled out. */
  readonly rollouts?: RolloutView | undefined;
  /** Where requests are left that nobody waits for. */
  readonly jobs?: JobDesk | undefined;
  /** Index of the first candidate that has room for this request. */
  readonly placementOf: (ctx: RequestContext) => number;
  readonly rateLimitHeaders: (limits: readonly LimitState[]) => readonly HeaderPair[];
  /** Answers of our own: the list of models, one model, a disabled endpoint. Throws `GatewayError`. */
  readonly services: (ctx: GrowingContext, target: Exclude<Target, { kind: 'model' | 'job' }>) => LocalResponse;
  /** An error as a whole answer. */
  readonly refusal: (
    subject: GrowingContext | { readonly head: RequestHead | null; readonly config: Snapshot },
    error: GatewayError,
    closing?: { readonly attempts: AttemptLog } | null,
  ) => LocalResponse;
  /** Any thrown value as an error for the client; a fault of ours is logged and counted. */
  readonly asError: (reason: unknown, ctx: { readonly id: string } | null) => GatewayError;
  /** May one more stream be watched up to its first output? Asked once for each stream that could fail over. */
  readonly mayWatchBody: () => boolean;
  /** Whether first tries may go without a stream of their own; left out: none does. */
  readonly direct?: DirectPath | undefined;
  readonly live: LiveRequests;
  readonly worker: number;
  readonly metrics: Metrics;
  /** Counts what runs now. */
  readonly figures: LiveFigures;
  /** Hears how tries go, to decide on the next ones. */
  readonly watch: TryWatch;
  readonly log: Log;
  readonly clock: Clock;
}
