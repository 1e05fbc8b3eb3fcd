import { WATCH_HEADER } from '../core/envoy-headers.ts';
import type { RequestReply, Watch } from '../core/exchange.ts';
import type { HeaderPair } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { Mutation } from '../core/mutation.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { type OpenedTry, openTry, type TryOptions } from './open-try.ts';
import type { Plan } from './plan.ts';

/** Value of the watch header by which Envoy's route lets the first try go without a stream. */
const DIRECT = 'direct';

/** Do all tries get the same request, and does none look at its answer? In a pool each try is told its endpoint. */
export function isSingle(plan: Plan, watch: Watch): boolean {
  return plan.length === 1 && plan[0].endpoint === undefined && watch === 'none';
}

/** An answer in place of the request, or the request on its way: with a body, or for a try that makes its own. */
export type DirectReply =
  | Extract<OpenedTry, { readonly kind: 'respond' }>
  | Extract<RequestReply, { readonly kind: 'forward' }>;

interface Planned {
  readonly plan: Plan;
  /** What tells Envoy the plan. */
  readonly mutation: Mutation;
  /** By which Envoy was rendered: it keeps bodies up to their limit to play them again. */
  readonly config: Pick<Snapshot, 'limits'>;
}

/** Nobody tells whether the connection stood: unless Envoy's answer denies it, the backend had the request. */
const TERMS = { mayReplay: false, isConnected: true, isDirect: true };

/** Begins the first try, and gives the request to send. Throws as `openTry` does. */
export function directForward(options: TryOptions, { plan, mutation, config }: Planned): MaybePromise<DirectReply> {
  const { context } = options.owner;
  const forward = (opened: OpenedTry): DirectReply => {
    if (opened.kind === 'respond') return opened;
    if (opened.body.length > config.limits.bodyBytes) return { kind: 'forward', mutation };
    return { kind: 'forward', mutation: joined(mutation, opened.mutation), body: opened.body };
  };
  const attempt = { number: 1, candidate: plan[0], last: true };
  const opened = openTry(options, attempt, context.head, TERMS);
  return isPromise(opened) ? opened.then(forward) : forward(opened);
}

/** The plan, and beside it the head of the try. The host is set by Envoy's route from the metadata: the router level may not change it. */
function joined(plan: Mutation, { set = [], remove = [] }: Mutation): Mutation {
  const host = set.find(([name]) => name === ':authority')?.[1] ?? '';
  return {
    set: [...(plan.set ?? []), [WATCH_HEADER, DIRECT], ...set.filter(isRouterLevel)],
    remove: remove.filter((name) => !isNeeded(name)),
    metadata: { ...plan.metadata, 'tokenlat.request': { ...plan.metadata?.['tokenlat.request'], host } },
  };
}

function isRouterLevel([name]: HeaderPair): boolean {
  return name !== ':authority' && name !== ':method';
}

/** Envoy takes these out when the try has begun: a try with a stream is led by ours, and without the protocol no route is found. */
function isNeeded(name: string): boolean {
  return name === 'x-forwarded-proto' || name.startsWith('x-tokenlat-');
}
