import type { Place } from '../../core/decision.ts';
import { addressOf, type Endpoint } from '../../core/endpoint.ts';
import { oncePer } from '../../core/once-per.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { priceAt, type Price } from '../../core/money.ts';
import type { Ask, Target } from '../../routing/target.ts';
import { streamsUpstream } from '../../core/upstream-request.ts';
import type { RouteContext } from './match-inputs.ts';
import { nameOf, shareOf } from '../../core/places.ts';

/** Output that is reckoned with where neither client nor model sets a bound. */
const USUAL_OUTPUT = 1024;

const wholeIncarnation = oncePer(
  ({ id, backend }: Deployment): string => `${id} ${(backend.endpoints ?? []).map(addressOf).join(',')}`,
);

/** The same deployment behind other addresses is another incarnation; each endpoint of a pool is one by its address. */
export function incarnationOf(place: Place): string {
  return place.endpoint === undefined ? wholeIncarnation(place.deployment) : nameOf(place);
}

/** What a place was last made to, and of what. */
interface Made {
  readonly target: Target;
  readonly weight: number;
  readonly quality: number;
  readonly price: Price;
}
const made = new WeakMap<Deployment, Map<Endpoint | undefined, Made>>();

/**
 * A place as the routing core sees it.
 * @param weight - Share of its deployment among equals; 0 counts as 1.
 * @param quality - For the request, 0..1.
 * @param time - Unix milliseconds, for the price.
 */
export function targetOf(place: Place, weight: number, quality: number, time: number): Target {
  const { deployment, endpoint } = place;
  const price = priceAt(deployment.price, time);
  let own = made.get(deployment);
  if (own === undefined) made.set(deployment, (own = new Map()));
  const last = own.get(endpoint);
  if (last !== undefined && last.price === price && last.weight === weight && last.quality === quality)
    return last.target;
  const shelf = last?.target.shelf ?? shelfOf(place);
  const target = makeTarget(place, { shelf, weight, quality, price });
  own.set(endpoint, { target, weight, quality, price });
  return target;
}

function makeTarget(
  place: Place,
  { shelf, weight, quality, price }: Omit<Made, 'target'> & Pick<Target, 'shelf'>,
): Target {
  const { deployment, endpoint } = place;
  const { profile, backend } = deployment;
  const share = shareOf(place);
  const limit = deployment.concurrency?.limit;
  return {
    id: nameOf(place),
    incarnation: incarnationOf(place),
    group: deployment.model,
    domain: endpoint === undefined ? backend.name : domainOf(endpoint),
    weight: (weight > 0 ? weight : 1) * share,
    capacity: limit === undefined ? null : Math.max(1, limit * share),
    ...(endpoint === undefined ? {} : { pool: backend.name, size: share * backend.endpoints.length }),
    warmRoom: null,
    shelf,
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

/** All models of one backend, or endpoint of a pool, stand on one shelf; behind other addresses are other servers. */
function shelfOf({ deployment: { id, backend, upstreamModel }, endpoint }: Place): Target['shelf'] {
  const servers = endpoint === undefined ? (backend.endpoints ?? []) : [endpoint];
  const addresses = servers.map(addressOf).join(',');
  const { most = null, keepMs = KEEP_MS } = backend.loads ?? {};
  return { server: `${backend.name} ${addresses}`, model: upstreamModel ?? id, most, keepMs };
}

function domainOf(endpoint: Endpoint): string {
  const { failureDomain, zone } = endpoint;
  if (failureDomain !== undefined) return `domain ${failureDomain}`;
  return zone === undefined ? addressOf(endpoint) : `zone ${zone}`;
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
