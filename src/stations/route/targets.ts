import type { Deployment } from '../../core/snapshot.ts';
import { priceAt } from '../../core/money.ts';
import type { Ask, Target } from '../../routing/target.ts';
import type { RouteContext } from './match-inputs.ts';

/** Output that is reckoned with where neither client nor model sets a bound. */
const USUAL_OUTPUT = 1024;

/** A deployment as the routing core sees it. The same deployment behind other addresses is another incarnation. */
export function incarnationOf({ id, backend }: Pick<Deployment, 'id' | 'backend'>): string {
  return `${id} ${(backend.endpoints ?? []).map(({ host, port }) => `${host}:${port}`).join(',')}`;
}

/** @param weight - Its share among equals; 0 counts as 1. `time`: Unix milliseconds, for the price. */
export function targetOf(deployment: Deployment, weight: number, type: string, time: number): Target {
  const { profile } = deployment;
  const price = priceAt(deployment.price, time);
  return {
    id: deployment.id,
    incarnation: incarnationOf(deployment),
    group: deployment.model,
    domain: deployment.backend.name,
    weight: weight > 0 ? weight : 1,
    capacity: deployment.concurrency?.limit ?? null,
    price: {
      prompt: price.promptPerMtok,
      completion: price.completionPerMtok,
      currency: deployment.price.currency,
    },
    quality: profile.qualityFor.get(type) ?? profile.quality,
    prior: { firstTokenMs: profile.firstTokenMs, tokenMs: profile.tokenMs, totalMs: profile.p95Ms },
  };
}

/** What the request is to the routing core. @param now - Monotonic milliseconds. */
export function askOf(ctx: RouteContext, most: number | null, now: number): Ask {
  const { request } = ctx;
  return {
    ...workOf(ctx),
    outputTokens: request.maxOutputTokens ?? most ?? USUAL_OUTPUT,
    latencyLimitMs: ctx.deadline - now,
  };
}

/** The kind of work that a request is. */
export function workOf({ request }: Pick<RouteContext, 'request'>): Pick<Ask, 'promptTokens' | 'kind' | 'stream'> {
  const { endpoint, stream, promptTokens } = request;
  return { promptTokens, kind: stream ? `${endpoint}.stream` : endpoint, stream };
}
