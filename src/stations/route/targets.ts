import type { Deployment } from '../../core/snapshot.ts';
import { priceAt, type Price } from '../../core/money.ts';
import type { Ask, Target } from '../../routing/target.ts';
import { streamsUpstream } from '../../core/upstream-request.ts';
import type { RouteContext } from './match-inputs.ts';

/** Output that is reckoned with where neither client nor model sets a bound. */
const USUAL_OUTPUT = 1024;

const incarnations = new WeakMap<Deployment, string>();

/** The same deployment behind other addresses is another incarnation. */
export function incarnationOf(deployment: Deployment): string {
  const known = incarnations.get(deployment);
  if (known !== undefined) return known;
  const { id, backend } = deployment;
  const made = `${id} ${(backend.endpoints ?? []).map(({ host, port }) => `${host}:${port}`).join(',')}`;
  incarnations.set(deployment, made);
  return made;
}

/** What a deployment was last made to, and of what. */
interface Made {
  readonly target: Target;
  readonly weight: number;
  readonly quality: number;
  readonly price: Price;
}
const made = new WeakMap<Deployment, Made>();

/**
 * A deployment as the routing core sees it.
 * @param weight - Its share among equals; 0 counts as 1.
 * @param quality - For the request, 0..1.
 * @param time - Unix milliseconds, for the price.
 */
export function targetOf(deployment: Deployment, weight: number, quality: number, time: number): Target {
  const price = priceAt(deployment.price, time);
  const last = made.get(deployment);
  if (last !== undefined && last.price === price && last.weight === weight && last.quality === quality)
    return last.target;
  const target = makeTarget(deployment, weight, quality, price);
  made.set(deployment, { target, weight, quality, price });
  return target;
}

function makeTarget(deployment: Deployment, weight: number, quality: number, price: Price): Target {
  const { profile } = deployment;
  return {
    id: deployment.id,
    incarnation: incarnationOf(deployment),
    group: deployment.model,
    domain: deployment.backend.name,
    weight: weight > 0 ? weight : 1,
    capacity: deployment.concurrency?.limit ?? null,
    warmRoom: null,
    shelf: shelfOf(deployment),
    price: {
      prompt: price.promptPerMtok,
      completion: price.completionPerMtok,
      currency: deployment.price.currency,
    },
    quality,
    prior: { firstTokenMs: profile.firstTokenMs, tokenMs: profile.tokenMs, totalMs: profile.p95Ms },
  };
}

/** An unused model is taken to be loaded for so long, where nothing is configured. */
const KEEP_MS = 300_000;

/** All models of one backend stand on one shelf; behind other addresses are other servers. */
function shelfOf({ id, backend, upstreamModel }: Deployment): Target['shelf'] {
  const addresses = (backend.endpoints ?? []).map(({ host, port }) => `${host}:${port}`).join(',');
  const { most = null, keepMs = KEEP_MS } = backend.loads ?? {};
  return { server: `${backend.name} ${addresses}`, model: upstreamModel ?? id, most, keepMs };
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
export function workOf(ctx: Pick<RouteContext, 'request' | 'surge'>): Pick<Ask, 'promptTokens' | 'kind' | 'stream'> {
  const { endpoint, promptTokens } = ctx.request;
  // What is asked for whole takes as long as a whole answer, whatever the client gets.
  const stream = streamsUpstream(ctx);
  return { promptTokens, kind: stream ? `${endpoint}.stream` : endpoint, stream };
}
