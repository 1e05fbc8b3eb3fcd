import { isBatchWork } from '../../core/batch-work.ts';
import type { RequestContext } from '../../core/context.ts';
import type { Decision } from '../../core/decision.ts';
import { GatewayError } from '../../core/error.ts';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { Priority, QueueRefusal } from '../../core/priority.ts';
import type { Deployment } from '../../core/snapshot.ts';
import type { Entry } from './gate.ts';
import type { Gates } from './gates.ts';
import { poolOf, type Rooms } from './rooms.ts';
import type { Option, Waited, WaitingRoom } from './waiting-room.ts';

/** A place at a deployment; `entry` null: it has no bound. */
export interface Seat {
  readonly deployment: Deployment;
  /** Index among the candidates of `decision`. */
  readonly start: number;
  readonly decision: Decision;
  readonly waitedMs: number;
  readonly entry: Entry | null;
}

export interface PlacementOptions {
  readonly gates: Gates;
  readonly rooms: Rooms;
  readonly clock: Pick<Clock, 'now'>;
  readonly metrics: Pick<Metrics, 'queueRefused'>;
  /** Decides anew on a request that waited. Throws what it is refused with. */
  readonly again: (ctx: RequestContext) => Decision;
}

/** A request that looks for room. */
interface Search {
  readonly ctx: RequestContext;
  readonly tokens: number;
  readonly since: number;
  readonly room: WaitingRoom;
  /** Where it would go first. */
  readonly deployment: Deployment;
}

/** How a request may wait: until when, and where it may go then. */
interface Patience {
  readonly mostMs: number;
  readonly decide: () => Decision;
  readonly starts: (decision: Decision) => readonly number[];
}

/** What Envoy needs to get an answer of a try in time. */
const MARGIN_MS = 50;
const [LEAST_RETRY_MS, USUAL_RETRY_MS, MOST_RETRY_MS] = [1000, 1000, 60_000];

/** What a request is told, if anybody listens, that was over before it had a slot. */
export function endedInQueue(): GatewayError {
  return new GatewayError('request_timeout', 'The request ended before the model had room for it.');
}

/** Finds room for requests, waiting where that is allowed. No wait lasts past the request's deadline or its signal: both end in `request_timeout`. */
export class Placement {
  readonly #options: PlacementOptions;

  constructor(options: PlacementOptions) {
    this.#options = options;
  }

  /**
   * A seat at one of the deployments that stand in for the first candidate, after a wait if need be; else at the next
   * candidate with room. Throws `deployment_saturated`, or what a new decision after the wait throws.
   */
  place(ctx: RequestContext, tokens: number): MaybePromise<Seat> {
    const { again } = this.#options;
    const { decision } = ctx;
    const { deployment: first } = decision.candidates[0];
    // Most have no bound: nothing is to be looked for.
    if (this.#options.gates.of(first, ctx.config.generation) === null)
      return { deployment: first, start: 0, decision, entry: null, waitedMs: 0 };
    const starts = (latest: Decision): readonly number[] => poolOf(ctx.config, latest);
    const search = this.#searchOf(ctx, first, tokens);
    const options = this.#optionsOf(ctx, decision, starts(decision));
    options[0]?.gate?.asked(tokens);
    const found = this.#atOnce(search, options, decision);
    if (found !== null) return found;
    const judge = (waited: Waited): Seat => {
      const outcome = this.#outcomeOf(search, waited);
      if (typeof outcome !== 'string') return outcome;
      const latest = outcome === 'queue_timeout' ? again(ctx) : decision;
      const all = this.#optionsOf(ctx, latest, [...latest.candidates.keys()]);
      const elsewhere = this.#atOnce(search, all, latest);
      if (elsewhere === null) throw this.#saturated(search, outcome, options);
      return elsewhere;
    };
    const waited = this.#wait(search, options, { mostMs: Infinity, decide: () => again(ctx), starts });
    return isPromise(waited) ? waited.then(judge) : judge(waited);
  }

  /** A seat at this deployment and no other. Throws `deployment_saturated`. */
  seatAt(ctx: RequestContext, deployment: Deployment, tokens: number): MaybePromise<Seat> {
    const { decision } = ctx;
    const at = decision.candidates.findIndex((each) => each.deployment.id === deployment.id);
    const search = this.#searchOf(ctx, deployment, tokens);
    const options = this.#optionsOf(ctx, decision, [at]);
    const found = this.#atOnce(search, options, decision);
    if (found !== null) return found;
    const judge = (waited: Waited): Seat => {
      const outcome = this.#outcomeOf(search, waited);
      if (typeof outcome === 'string') throw this.#saturated(search, outcome, options);
      return outcome;
    };
    // Unlike that of the whole request, the timer of Envoy runs while a try waits.
    const mostMs = ctx.config.server.messageTimeoutMs - MARGIN_MS;
    const waited = this.#wait(search, options, { mostMs, decide: () => decision, starts: () => [at] });
    return isPromise(waited) ? waited.then(judge) : judge(waited);
  }

  #searchOf(ctx: RequestContext, deployment: Deployment, tokens: number): Search {
    const { clock, rooms } = this.#options;
    return {
      ctx,
      tokens,
      deployment,
      since: clock.now(),
      room: rooms.of(deployment, ctx.config),
    };
  }

  #optionsOf({ config }: RequestContext, { candidates }: Decision, starts: readonly number[]): readonly Option[] {
    return starts.flatMap((start): readonly Option[] => {
      const deployment = candidates[start]?.deployment;
      if (deployment === undefined) return [];
      return [{ deployment, start, gate: this.#options.gates.of(deployment, config.generation) }];
    });
  }

  /** The first of these with room, that nobody waits for. */
  #atOnce({ tokens, room, since }: Search, options: readonly Option[], decision: Decision): Seat | null {
    for (const { deployment, start, gate } of options) {
      if (gate !== null && room.size > 0 && room.hasFor(gate)) continue;
      const entry = gate === null ? null : gate.enter(tokens);
      if (gate !== null && entry === null) continue;
      return { deployment, start, decision, entry, waitedMs: this.#options.clock.now() - since };
    }
    return null;
  }

  #wait(search: Search, options: readonly Option[], { mostMs, decide, starts }: Patience): MaybePromise<Waited> {
    const { ctx, tokens, room, deployment } = search;
    const { queue } = deployment;
    if (queue === undefined || queue.size === 0 || !this.#options.rooms.hasPlaces(deployment, ctx.config))
      return { kind: 'refused', why: 'no_queue' };
    return room.wait({
      ctx,
      priority: priorityOf(ctx),
      cost: tokens,
      options,
      timeoutMs: Math.min(queue.timeoutMs, ctx.deadline - this.#options.clock.now(), mostMs),
      again: () => {
        const decision = decide();
        return { decision, options: this.#optionsOf(ctx, decision, starts(decision)) };
      },
    });
  }

  /** A seat, or why there is none: others may make that good. */
  #outcomeOf({ ctx, since }: Search, waited: Waited): Seat | QueueRefusal {
    const now = this.#options.clock.now();
    if (waited.kind === 'seated') {
      const { option, entry, decision } = waited;
      return { deployment: option.deployment, start: option.start, decision, entry, waitedMs: now - since };
    }
    if (waited.why === 'aborted' || now >= ctx.deadline) throw endedInQueue();
    return waited.why;
  }

  #saturated({ ctx, tokens, room, deployment }: Search, why: QueueRefusal, options: readonly Option[]): GatewayError {
    this.#options.metrics.queueRefused(deployment.model, why);
    room.refused();
    const drainMs = room.drainMs({ priority: priorityOf(ctx), cost: tokens, options }) ?? USUAL_RETRY_MS;
    const retryAfterMs = Math.max(LEAST_RETRY_MS, drainMs);
    return new GatewayError(
      'deployment_saturated',
      deployment.queue?.text ?? 'The model is busy at the moment. Please try again.',
      {
        retryAfterMs: Math.min(MOST_RETRY_MS, retryAfterMs),
        headers: [['x-refused-reason', why]],
        cause: new Error(`${why} at ${deployment.id}`),
      },
    );
  }
}

function priorityOf(ctx: RequestContext): Priority {
  return isBatchWork(ctx, ctx.decision.route) ? 'batch' : 'interactive';
}
