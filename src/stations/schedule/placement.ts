import type { RequestContext } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Deployment } from '../../core/snapshot.ts';
import type { Acquired, Release } from '../../lib/semaphore/semaphore.ts';
import type { SlotPools } from './slot-pools.ts';

/** A place at a deployment. */
export interface Seat {
  readonly deployment: Deployment;
  /** Index among the candidates. */
  readonly start: number;
  readonly waitedMs: number;
  readonly release: Release;
}

const RETRY_AFTER_MS = 1000;
const FREE = { kind: 'acquired', release: () => {} } as const satisfies Acquired;

/** What a request is told, if anybody listens, that was over before it had a slot. */
export function endedInQueue(): GatewayError {
  return new GatewayError('request_timeout', 'The request ended before the model had room for it.');
}

function saturated({ concurrency }: Deployment): GatewayError {
  return new GatewayError(
    'deployment_saturated',
    concurrency?.text ?? 'The model is busy at the moment. Please try again.',
    {
      retryAfterMs: RETRY_AFTER_MS,
    },
  );
}

function whenAcquired(outcome: MaybePromise<Acquired>, then: (outcome: Acquired) => Seat): MaybePromise<Seat> {
  return isPromise(outcome) ? outcome.then(then) : then(outcome);
}

/** Finds room for requests, waiting where that is allowed. */
export interface Placement {
  /** A seat at the first candidate, after a wait if need be; else at the next one with a free slot. Throws `deployment_saturated`. */
  place(ctx: RequestContext): MaybePromise<Seat>;
  /** A seat at this deployment and no other. Throws `deployment_saturated`. */
  seatAt(ctx: RequestContext, deployment: Deployment): MaybePromise<Seat>;
}

/** No wait lasts past the request's deadline or its signal: both end in `request_timeout`. */
export function createPlacement({ pools, clock }: { readonly pools: SlotPools; readonly clock: Clock }): Placement {
  function acquire(ctx: RequestContext, deployment: Deployment): MaybePromise<Acquired> {
    const pool = pools.poolFor(deployment, ctx.config.generation);
    if (pool === null) return FREE;
    // Who finds a free slot waits for nothing: no timer, no signal.
    const release = pool.tryAcquire();
    if (release !== null) return { kind: 'acquired', release };
    const timeoutMs = Math.min(deployment.concurrency?.queueTimeoutMs ?? 0, ctx.deadline - clock.now());
    return pool.acquire({ timeoutMs, signal: ctx.signal });
  }

  function nextFree(ctx: RequestContext, since: number): Seat {
    const { candidates } = ctx.decision;
    for (let start = 1; start < candidates.length; start++) {
      const deployment = candidates[start]?.deployment;
      if (deployment === undefined) continue;
      const pool = pools.poolFor(deployment, ctx.config.generation);
      const release = pool === null ? FREE.release : pool.tryAcquire();
      if (release !== null) return { deployment, start, release, waitedMs: clock.now() - since };
    }
    throw saturated(candidates[0].deployment);
  }

  function judge(ctx: RequestContext, outcome: Acquired): Release | null {
    if (outcome.kind === 'acquired') return outcome.release;
    if (outcome.kind === 'aborted' || clock.now() >= ctx.deadline) throw endedInQueue();
    return null;
  }

  return {
    place(ctx) {
      const { deployment } = ctx.decision.candidates[0];
      const since = clock.now();
      return whenAcquired(acquire(ctx, deployment), (outcome) => {
        const release = judge(ctx, outcome);
        return release === null
          ? nextFree(ctx, since)
          : { deployment, start: 0, release, waitedMs: clock.now() - since };
      });
    },
    seatAt(ctx, deployment) {
      const since = clock.now();
      return whenAcquired(acquire(ctx, deployment), (outcome) => {
        const release = judge(ctx, outcome);
        if (release === null) throw saturated(deployment);
        return { deployment, start: 0, release, waitedMs: clock.now() - since };
      });
    },
  };
}
