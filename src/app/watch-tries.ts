import type { Clock } from '../core/ports/clock.ts';
import type { Metrics } from '../core/ports/telemetry.ts';
import type { TryOutcome, TryWatch } from '../core/ports/try-watch.ts';
import type { Engine } from '../routing/engine.ts';
import type { Outcome } from '../routing/target.ts';
import { targetOf } from '../stations/route/targets.ts';

/** A lease outlives the deadline of its request by this much: whatever ends a try has ended it by then. */
const GRACE_MS = 10_000;
/** A backend cannot send itself on holiday. */
const LONGEST_REST_MS = 30_000;

/** Tells the routing core how tries go. */
export function watchTries(
  { tries }: Pick<Engine, 'tries'>,
  clock: Clock,
  metrics: Pick<Metrics, 'loadedTry'>,
): TryWatch {
  return {
    begin(place, { request, deadline, ...work }) {
      const target = targetOf(place, place.deployment.weight, place.deployment.profile.quality, clock.time());
      const began = tries.begin(request, target, work, clock.now(), deadline + GRACE_MS);
      const isCold = work.warm.mustLoad === true ? began.lease.isCold : null;
      const startedAt = clock.now();
      let isTold = isCold === null;
      const tell = (hasAnswered: boolean): void => {
        if (isTold) return;
        isTold = true;
        const seconds = hasAnswered ? (clock.now() - startedAt) / 1000 : null;
        metrics.loadedTry(place.deployment.model, isCold === true ? 'cold' : 'warm', seconds);
      };
      return {
        isCold,
        firstToken: () => {
          if (!work.stream) return;
          tries.firstToken(began, clock.now());
          tell(true);
        },
        end: (outcome) => {
          tries.end(began, outcomeOf(outcome), clock.now());
          tell(outcome.kind === 'served');
        },
      };
    },
  };
}

/** 429 is a matter of room; other refusals of a request say nothing of who refuses. */
function outcomeOf(outcome: TryOutcome): Outcome {
  switch (outcome.kind) {
    case 'served':
      return { kind: 'served', tokens: outcome.completionTokens };
    case 'left':
      return { kind: 'neutral' };
    case 'failed': {
      const { status, retryAfterMs } = outcome;
      if (status === 429)
        return { kind: 'busy', retryAfterMs: retryAfterMs === null ? null : Math.min(retryAfterMs, LONGEST_REST_MS) };
      return status !== null && status >= 400 && status < 500 ? { kind: 'neutral' } : { kind: 'failed' };
    }
    default:
      return outcome satisfies never;
  }
}
