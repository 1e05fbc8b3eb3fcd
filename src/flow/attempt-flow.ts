import type { Candidate } from '../core/decision.ts';
import { addressOf, endpointAt } from '../core/endpoint.ts';
import { retryAfterMs } from '../core/retry-after.ts';
import type { RequestContext } from '../core/context.ts';
import type { ResponseDecoder } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { AttemptExchange, AttemptReply, Watch } from '../core/exchange.ts';
import type { RequestHead, ResponseHead } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { Attempt } from '../core/station.ts';
import { streamsUpstream } from '../core/upstream-request.ts';
import type { Usage } from '../core/usage.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { FlowOptions } from './flow-options.ts';
import { type OpenedTry, openTry, requestOf } from './open-try.ts';
import type { Plan } from './plan.ts';
import { toError } from '../lib/error/to-error.ts';

/** The request that an attempt is a try of. */
export interface AttemptOwner {
  readonly context: RequestContext;
  readonly plan: Plan;
  readonly closing: { readonly attempts: AttemptLog };
  /** What the route that was chosen lets its tries see. */
  readonly watch: Watch;
  readonly over: boolean;
  /** A try could not be made. Our refusal comes back to the request as if an upstream had answered. */
  readonly onRefused: (error: GatewayError) => void;
  /** A try that was begun without a stream has one after all. */
  readonly onClaimed: () => void;
}

export interface AttemptFlowOptions extends FlowOptions {
  readonly owner: AttemptOwner;
  /** The cluster that Envoy chose for this try. */
  readonly cluster: string;
  /** Was a connection to it standing when the try began? Then it had the request, whatever became of it. */
  readonly isConnected?: boolean;
  /** The endpoint there, `ip:port`; empty or left out: not told. */
  readonly address?: string;
}

const PASS: AttemptReply = { kind: 'continue', mutation: {} };

/** A status that makes Envoy take the next candidate. */
const TRY_NEXT = '503';

/**
 * One try. While another candidate is left, it looks at the answer up to the first piece that means something: an error
 * there is turned into a status that Envoy retries, and the client never sees it.
 */
export class AttemptFlow implements AttemptExchange {
  readonly #options: AttemptFlowOptions;
  #attempt: Attempt | null = null;
  #probe: ResponseDecoder | null = null;
  /** The head of a whole answer waits for its first byte. */
  #awaitsByte = false;

  constructor(options: AttemptFlowOptions) {
    this.#options = options;
    options.metrics.streams('attempt', 1);
  }

  readonly onRequestHead = (head: RequestHead): MaybePromise<OpenedTry> => {
    try {
      const attempt = this.#next(head);
      this.#attempt = attempt;
      const { owner, isConnected = false } = this.#options;
      if (attempt.number === owner.closing.attempts.last) {
        owner.onClaimed();
        return requestOf(this.#options, attempt, head);
      }
      const mayReplay = owner.watch !== 'none' && owner.context.decision.mayReplay;
      const opened = openTry(this.#options, attempt, head, { mayReplay, isConnected });
      return isPromise(opened) ? opened.catch((reason: unknown) => this.#refuse(reason)) : opened;
    } catch (reason) {
      return this.#refuse(reason);
    }
  };

  readonly onResponseHead = (head: ResponseHead, end: boolean): AttemptReply => {
    const { owner, adapt } = this.#options;
    const attempt = this.#attempt;
    if (attempt === null || owner.over) return PASS;
    // Also of the last entry of a plan: Envoy may ask another endpoint of it.
    if (!attempt.last || head.status >= 400) owner.closing.attempts.answered(head.status, retryAfterMs(head.headers));
    if (attempt.last) return PASS;
    if (head.status >= 400) return this.#giveUp(`status ${head.status}`, null, null);
    if (!streamsUpstream(owner.context)) return this.#wholeHead(head, end);
    if (end) return this.#tryNext('empty answer', null);
    this.#probe = adapt.decoder(owner.context, attempt, head);
    return { kind: 'hold' };
  };

  readonly onResponseBody = (chunk: Buffer, end: boolean): AttemptReply => {
    if (this.#awaitsByte) return this.#firstByte(chunk, end);
    const probe = this.#probe;
    if (probe === null || this.#options.owner.over) return PASS;
    const events = [...probe.push(chunk), ...(end ? probe.end() : [])];
    for (const event of events) {
      if (event.kind === 'answer') return PASS;
      // A role alone says nothing yet of whether this backend can answer.
      if (event.kind === 'chunk' && (event.facts.content || event.facts.finishReason !== null)) return PASS;
      if (event.kind === 'error') return this.#tryNext(event.error.code, event.usage);
      if (event.kind === 'end') return this.#tryNext('no output', null);
    }
    return end ? this.#tryNext('no output', null) : { kind: 'hold' };
  };

  readonly close = (): void => {
    this.#options.metrics.streams('attempt', -1);
    // Of a try that is not watched our part ends with its request.
    if (this.#attempt !== null && this.#options.owner.watch !== 'none')
      this.#options.owner.closing.attempts.ended(this.#attempt.number);
  };

  #wholeHead(head: ResponseHead, end: boolean): AttemptReply {
    if (end || !isJson(head)) return this.#tryNext('not JSON', null);
    this.#awaitsByte = this.#options.owner.watch === 'body';
    return this.#awaitsByte ? { kind: 'hold' } : PASS;
  }

  #firstByte(chunk: Buffer, end: boolean): AttemptReply {
    if (this.#options.owner.over || chunk.length > 0) return PASS;
    return end ? this.#tryNext('empty answer', null) : { kind: 'hold' };
  }

  /** By Envoy's own count: tries that were handed over between workers may arrive out of order. */
  #next(head: RequestHead): Attempt {
    const { owner, cluster, address = '' } = this.#options;
    const { attempts } = owner.closing;
    const told = Number(head.headers.get('x-envoy-attempt-count') ?? attempts.last + 1);
    const number = Number.isSafeInteger(told) && told > 0 ? told : attempts.last + 1;
    const isBegun = number === attempts.last && attempts.claim();
    if (owner.over || (number <= attempts.last && !isBegun)) throw new TooLate();
    const planned = owner.plan[Math.min(number, owner.plan.length) - 1];
    if (planned === undefined || planned.deployment.backend.name !== cluster) {
      this.#options.metrics.anomaly('attempt_off_plan');
      throw new GatewayError('internal_error', 'The proxy chose a backend that is not in the plan of this request.');
    }
    return { number, candidate: servedBy(planned, address), last: number >= owner.plan.length };
  }

  #tryNext(reason: string, usage: Usage | null): AttemptReply {
    return this.#giveUp(reason, usage, TRY_NEXT);
  }

  #giveUp(reason: string, usage: Usage | null, status: string | null): AttemptReply {
    this.#options.owner.closing.attempts.failed(reason, usage);
    this.#probe = null;
    return {
      kind: 'continue',
      mutation: {
        ...(status === null ? {} : { set: [[':status', status]] }),
        // The next backend is not the one that asked to be left alone for a while.
        ...(this.#attempt?.last === true ? {} : { remove: ['retry-after'] }),
      },
    };
  }

  /** Nothing was sent yet and Envoy will not try again: the client gets our error. */
  #refuse(reason: unknown): OpenedTry {
    const { owner, log, refusal } = this.#options;
    if (reason instanceof TooLate) {
      // Nobody waits for this try any more: neither it nor what becomes of it is told.
      const gone = new GatewayError('upstream_unreachable', 'This try came too late.');
      return { kind: 'respond', response: refusal(owner.context, gone, owner.closing) };
    }
    const error = GatewayError.from(reason);
    if (error.code === 'internal_error') {
      log.error('an attempt could not be made', { request_id: owner.context.id, error: toError(error.cause ?? error) });
    }
    owner.onRefused(error);
    return { kind: 'respond', response: refusal(owner.context, error, owner.closing) };
  }
}

/** In a pool Envoy has the last word: it may not know an endpoint yet, or no more. */
function servedBy(planned: Candidate, address: string): Candidate {
  const { deployment, endpoint, reason } = planned;
  if (endpoint === undefined || address === '' || addressOf(endpoint) === address) return planned;
  const other = endpointAt(deployment.backend, address);
  return other === undefined ? { deployment, reason } : { deployment, endpoint: other, reason };
}

/** A try whose request has ended, or has gone on to a later try. */
class TooLate extends Error {
  override readonly name = 'TooLate';
}

function isJson(head: ResponseHead): boolean {
  return (head.headers.get('content-type') ?? 'application/json').includes('json');
}
