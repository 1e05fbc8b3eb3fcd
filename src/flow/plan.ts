import type { RequestContext } from '../core/context.ts';
import type { Candidate } from '../core/decision.ts';
import { addressOf } from '../core/endpoint.ts';
import { AFFINITY_HEADER, WATCH_HEADER } from '../core/envoy-headers.ts';
import type { Watch } from '../core/exchange.ts';
import type { HeaderPair } from '../core/http.ts';
import type { Mutation } from '../core/mutation.ts';
import { streamsUpstream } from '../core/upstream-request.ts';

/** Statuses of an upstream that another backend may answer better, beside those that Envoy's route retries anyway. */
const ELSEWHERE_STATUSES = '401,403,404,408';

/** Who serves which try: attempt n goes to entry n, the last entry serves the rest. */
export type Plan = readonly [Candidate, ...Candidate[]];

/**
 * The candidates from the one that has room for this request on, as many as there can be tries. The last try leaves a pool
 * where somebody else could serve: what ails all of its endpoints is met by the time their breakers open.
 */
export function planOf(ctx: RequestContext, start: number): Plan {
  const left = ctx.decision.candidates.slice(start);
  const [first, ...rest] = left.slice(0, 1 + ctx.config.retry.retries);
  if (first === undefined) return [ctx.decision.candidates[0]];
  const { backend } = first.deployment;
  const isElsewhere = ({ deployment }: Candidate): boolean => deployment.backend !== backend;
  const other = first.endpoint === undefined || rest.some(isElsewhere) ? undefined : left.find(isElsewhere);
  return other === undefined || rest.length === 0 ? [first, ...rest] : [first, ...rest.slice(0, -1), other];
}

/**
 * What a try must see so that another candidate can still take over: the first output of a stream, else the head; of a whole
 * answer its first byte, too, where silence after the head is reason to ask elsewhere.
 */
export function watchOf(ctx: RequestContext, plan: Plan, mayWatchBody: () => boolean): Watch {
  if (plan.length < 2) return ctx.decision.mayReplay && hasElsewhere(plan) ? 'head' : 'none';
  return (streamsUpstream(ctx) || ctx.decision.mayReplay) && mayWatchBody() ? 'body' : 'head';
}

/** Is there anybody else to ask? Of the endpoints of one backend Envoy takes another one each time. */
function hasElsewhere(plan: Plan): boolean {
  return plan.length > 1 || plan[0].deployment.backend.endpoints.length > 1;
}

/**
 * What tells Envoy the plan: one priority group a try, how often to try, and on what. A request that an upstream took and
 * never answered (a broken connection, silence) is replayed only to somebody else, and where its rule allows it.
 */
export function planMutation(ctx: RequestContext, plan: Plan, watch: Watch, now: number): Mutation {
  const retries = plan.length > 1 ? plan.length - 1 : ctx.config.retry.retries;
  const backstopMs = Math.max(1, Math.ceil(ctx.deadline - now)) + 1000;
  const set: HeaderPair[] = [
    ['x-envoy-max-retries', String(retries)],
    ['x-envoy-upstream-rq-timeout-ms', String(backstopMs)],
  ];
  if (ctx.decision.mayReplay && hasElsewhere(plan)) set.push(['x-envoy-retry-on', 'reset']);
  if (plan.length > 1) set.push(['x-envoy-retriable-status-codes', ELSEWHERE_STATUSES]);
  if (watch !== 'none') set.push([WATCH_HEADER, watch]);
  return {
    set,
    ...(watch === 'none' ? { remove: [WATCH_HEADER] } : {}),
    metadata: {
      'tokenlat.route': {
        priority_groups: plan.map((candidate, index) => ({
          name: `try-${index + 1}`,
          clusters: [{ cluster_name: candidate.deployment.backend.name, weight: 1 }],
        })),
      },
      'tokenlat.request': { id: ctx.id, affinity: ctx.head.headers.get(AFFINITY_HEADER) ?? '' },
      ...endpointsOf(plan, retries),
    },
  };
}

/**
 * Which endpoint of its cluster each try goes to. Envoy takes the next entry that is in the cluster of the try and passes over
 * the others for good, so there is one entry for each try at a pool, in their order; an entry of another pool cannot be taken.
 */
function endpointsOf(plan: Plan, retries: number): Mutation['metadata'] {
  const [{ endpoint: only }] = plan;
  const tries =
    plan.length > 1 ? plan.map(({ endpoint }) => endpoint) : Array.from({ length: 1 + retries }, () => only);
  const addresses = tries.flatMap((endpoint) => (endpoint === undefined ? [] : [addressOf(endpoint)]));
  return addresses.length === 0 ? {} : { 'envoy.lb': { 'x-gateway-destination-endpoint': addresses.join(',') } };
}
