import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Judged } from '../../core/decision.ts';
import type { Ending } from '../../core/ending.ts';
import type { Json } from '../../core/json.ts';
import { type Price, priceAt } from '../../core/money.ts';
import { NobodyLeft } from '../../core/nobody-left.ts';
import type { RequestTrace } from '../../core/ports/trace-store.ts';
import type { Deployment } from '../../core/snapshot.ts';

/** A list that somebody configured may be long; what was ranked first matters. */
const MOST_CANDIDATES = 32;

/**
 * What a request's record says beyond its trace, so that it can be understood when the configuration has long changed: who
 * could have served and why, what the one that did was then and cost then, and what the filter said. No text of the request.
 */
export function auditFacts(ctx: Partial<RequestContext> & Arrived, ending: Ending, trace: RequestTrace): RequestTrace {
  const candidates = ctx.decision?.candidates ?? [];
  const booked = ending.events.find((event) => event.chargedTo === 'tenant');
  const served = candidates.find(
    ({ deployment }) => deployment.model === booked?.model && deployment.backend.name === booked.backend,
  );
  const filter = ctx.trail.of('enhance');
  return {
    ...trace,
    candidates: judgedOf(ctx, ending)
      .slice(0, MOST_CANDIDATES)
      .map(({ deployment, place, reason }) => ({ deployment, place, reason })),
    deployment: served === undefined ? null : deploymentFacts(served.deployment, ctx.time),
    safety: filter === undefined ? null : { verdict: filter.decision, rule: filter.reason },
  };
}

/** Who was looked at: for the decision, or in vain. */
function judgedOf({ decision }: Partial<RequestContext>, ending: Ending): readonly Judged[] {
  if (decision !== undefined) return decision.judged();
  return ending.kind === 'failed' && ending.error instanceof NobodyLeft ? ending.error.judged() : [];
}

function deploymentFacts({ id, model, upstreamModel, backend, price, costTier }: Deployment, time: number): Json {
  return {
    id,
    model,
    upstream_model: upstreamModel,
    backend: backend.name,
    dialect: backend.dialect,
    cost_tier: costTier,
    price: priceFacts(priceAt(price, time)),
  };
}

/** Micro-units per million tokens; `valid_from` null is the first version. */
function priceFacts({ currency, validFrom, promptPerMtok, cachedPerMtok, completionPerMtok }: Price): Json {
  return {
    currency,
    valid_from: validFrom === undefined ? null : new Date(validFrom).toISOString(),
    prompt: promptPerMtok,
    cached: cachedPerMtok,
    completion: completionPerMtok,
  };
}
