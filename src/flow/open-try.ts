import type { RequestContext } from '../core/context.ts';
import type { AttemptRequest, Watch } from '../core/exchange.ts';
import type { LocalResponse, RequestHead } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { Attempt } from '../core/station.ts';
import type { AttemptLog, TryTerms } from './attempt-log.ts';
import type { FlowOptions } from './flow-options.ts';
import { microsSince, walkAttempt } from './walk.ts';

export interface TryOptions extends Pick<FlowOptions, 'stations' | 'adapt'> {
  readonly owner: {
    readonly context: RequestContext;
    readonly watch: Watch;
    readonly closing: { readonly attempts: AttemptLog };
  };
}

/** What a try begins with: the request that its backend gets, or an answer in its place. */
export type OpenedTry = AttemptRequest | { readonly kind: 'respond'; readonly response: LocalResponse };

/**
 * Begins a try: books it, asks the stations, and makes its request in place of `head`, which Envoy holds. Throws what they
 * throw, or rejects with it.
 */
export function openTry(
  options: TryOptions,
  attempt: Attempt,
  head: RequestHead,
  terms: TryTerms,
): MaybePromise<OpenedTry> {
  const { stations, owner } = options;
  owner.closing.attempts.start(attempt, terms);
  const walked = walkAttempt(stations, owner.context, attempt);
  const open = (response: LocalResponse | null): OpenedTry =>
    response === null ? requestOf(options, attempt, head) : { kind: 'respond', response };
  return isPromise(walked) ? walked.then(open) : open(walked);
}

/** The request of a try that was begun. */
export function requestOf({ adapt, owner }: TryOptions, attempt: Attempt, head: RequestHead): AttemptRequest {
  const began = performance.now();
  const { backend } = attempt.candidate.deployment;
  const request = adapt.request(owner.context, attempt, head, owner.watch);
  owner.context.trail.note(
    'adapt',
    microsSince(began),
    `to ${backend.dialect}`,
    `attempt ${attempt.number}: ${request.body.length} bytes to ${backend.name}`,
  );
  return request;
}
