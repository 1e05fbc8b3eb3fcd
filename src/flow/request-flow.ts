import type { RequestContext } from '../core/context.ts';
import type { CutBy } from '../core/ending.ts';
import { GatewayError } from '../core/error.ts';
import type { RequestExchange, RequestPort, RequestReply, ResponseReply, Watch } from '../core/exchange.ts';
import type { LocalResponse, RequestHead, ResponseHead } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { Alarm } from './alarm.ts';
import { arrive, shownIdOf } from './arrival.ts';
import { AttemptFlow, type AttemptOwner } from './attempt-flow.ts';
import { BodyBuffer } from './body-buffer.ts';
import { Closing } from './closing.ts';
import type { ClosingHow } from './closing-how.ts';
import { Delivery } from './delivery.ts';
import { directForward, type DirectReply, isSingle } from './direct.ts';
import { refuseCoding, type Target, targetOf, wantsJob } from './endpoints.ts';
import type { FlowOptions } from './flow-options.ts';
import type { LiveRequest } from './live-requests.ts';
import { planMutation, planOf, type Plan, watchOf } from './plan.ts';
import { answerHeaders, refusalHeaders } from './response-heads.ts';
import { callerOf } from './services.ts';
import { type GrowingContext, microsSince, walkHead, walkRequest } from './walk.ts';

const HOLD: RequestReply = { kind: 'hold' };

/** How long Envoy's word on who broke an answer is waited for. */
const VERDICT_MS = 150;

/** Why a request's signal fires. Without a reason each abort would make an error with a stack that nobody reads. */
const OVER = 'the request is over';

/** One client request from its head to its settlement. */
export class RequestFlow implements RequestExchange, AttemptOwner, LiveRequest {
  readonly #options: FlowOptions;
  readonly #port: RequestPort;
  #abort: AbortController | null = null;
  readonly #config: Snapshot;
  readonly #body: BodyBuffer;
  readonly #alarm = new Alarm();
  #head: RequestHead | null = null;
  #target: Target | null = null;
  #ctx: GrowingContext | null = null;
  #headWalk: MaybePromise<LocalResponse | null> = null;
  #plan: Plan | null = null;
  #watch: Watch = 'none';
  #hasTrailers = false;
  #isDirect = false;
  #delivery: Delivery | null = null;
  #closing: Closing | null = null;
  /** We have answered in place of the upstream, or the answer has ended: what still comes is not for us. */
  #over = false;
  #refused: GatewayError | null = null;

  constructor(options: FlowOptions, port: RequestPort) {
    this.#options = options;
    this.#port = port;
    this.#config = options.config();
    this.#body = new BodyBuffer(this.#config.limits.bodyBytes);
  }

  readonly #signalOf = (): AbortSignal => {
    this.#abort ??= new AbortController();
    if (this.#over) this.#abort.abort(OVER);
    return this.#abort.signal;
  };

  // ── request side ────────────────────────────────────────────────────────────────────────────────────────────────

  readonly onRequestHead = (head: RequestHead, end: boolean): MaybePromise<RequestReply> => {
    this.#head = head;
    return this.#guard(() => {
      this.#begin(head);
      if (end) return this.#whole();
      return this.#early();
    });
  };

  readonly onRequestBody = (chunk: Buffer, end: boolean, trailers = false): MaybePromise<RequestReply> => {
    if (this.#over) return HOLD;
    this.#hasTrailers = trailers;
    return this.#guard(() => {
      this.#body.add(chunk);
      return end ? this.#whole() : HOLD;
    });
  };

  #begin(head: RequestHead): void {
    const { clock, client, worker, live, metrics } = this.#options;
    const target = targetOf(head);
    refuseCoding(head);
    this.#target = target;
    const ctx: GrowingContext = arrive({
      head,
      endpoint: target.kind === 'model' ? target.endpoint : 'chat',
      dialect: client,
      config: this.#config,
      clock,
      worker,
      signalOf: this.#signalOf,
    });
    this.#ctx = ctx;
    this.#closing = new Closing(this.#options, ctx);
    live.add(ctx.id, this);
    metrics.streams('request', 1);
    this.#alarm.set(ctx.deadline - clock.now(), this.#onDeadline);
    const walk = walkHead(this.#options.stations, ctx);
    this.#headWalk = isPromise(walk) ? walk.then(this.#takeSide) : this.#takeSide(walk);
  }

  /** It is known who asks: while a configuration is rolled out, that says which one serves. */
  readonly #takeSide = (response: LocalResponse | null): LocalResponse | null => {
    const ctx = this.#context();
    if (response !== null || ctx.principal === undefined) return response;
    if (ctx.principal.job !== undefined) ctx.operation = ctx.principal.job.operation;
    const assigned = this.#options.rollouts?.assign(ctx.principal) ?? null;
    if (assigned === null) return response;
    ctx.rollout = assigned;
    ctx.config = assigned.config;
    return response;
  };

  /** A bad credential is answered at once, without waiting for the body. */
  #early(): MaybePromise<RequestReply> {
    const walk = this.#headWalk;
    if (!isPromise(walk)) return walk === null ? HOLD : this.#respond(walk);
    return walk.then((response) => (response === null ? HOLD : this.#respond(response)));
  }

  #whole(): MaybePromise<RequestReply> {
    const walk = this.#headWalk;
    if (isPromise(walk)) {
      return walk.then((response) => (response === null ? this.#serve() : this.#respond(response)));
    }
    return walk === null ? this.#serve() : this.#respond(walk);
  }

  #serve(): MaybePromise<RequestReply> {
    const ctx = this.#context();
    const target = this.#target;
    if (this.#over) return HOLD;
    if (target?.kind === 'job') return this.#job(target);
    if (target !== null && target.kind !== 'model') return this.#respond(this.#options.services(ctx, target));
    const began = performance.now();
    ctx.request = this.#options.client.parse(ctx.head, this.#body.whole(), this.#config.limits);
    ctx.trail.note('adapt', microsSince(began), 'parsed', `${ctx.request.promptTokens} prompt tokens estimated`);
    const { jobs } = this.#options;
    if (jobs?.isOpen() === true && ctx.principal?.job === undefined && wantsJob(ctx.head))
      return jobs.take(ctx as RequestContext).then((response) => this.#respond(response));
    const walked = walkRequest(this.#options.stations, ctx, this.#walking);
    return isPromise(walked) ? walked.then((response) => this.#decided(response)) : this.#decided(walked);
  }

  #job({ id, action }: Extract<Target, { readonly kind: 'job' }>): MaybePromise<RequestReply> {
    const principal = callerOf(this.#context());
    const { jobs } = this.#options;
    if (jobs === undefined) throw new GatewayError('unknown_endpoint', 'There are no jobs here.');
    const answer = action === 'show' ? jobs.show(principal, id) : jobs.cancel(principal, id);
    return answer.then((response) => this.#respond(response));
  }

  #decided(response: LocalResponse | null): MaybePromise<RequestReply> {
    if (response !== null) return this.#respond(response);
    if (this.#over) return HOLD;
    const ctx = this.#context() as RequestContext;
    const plan = planOf(ctx, this.#options.placementOf(ctx));
    this.#plan = plan;
    this.#watch = watchOf(ctx, plan, this.#options.mayWatchBody);
    const mutation = planMutation(ctx, plan, this.#watch, this.#options.clock.now());
    // Trailers would go on with what is sent from here; a try with a stream drops them.
    if (this.#hasTrailers || !isSingle(plan, this.#watch) || this.#options.direct?.isOpen() !== true)
      return { kind: 'forward', mutation };
    const made = directForward({ ...this.#options, owner: this }, { plan, mutation, config: this.#config });
    return isPromise(made) ? made.then(this.#goDirect) : this.#goDirect(made);
  }

  readonly #goDirect = (reply: DirectReply): RequestReply => {
    if (reply.kind === 'respond') return this.#respond(reply.response);
    this.#isDirect = reply.body !== undefined;
    return this.#over ? HOLD : reply;
  };

  readonly #walking = { decided: () => this.#keepRouteTime(), isOver: () => this.#over };

  /** A route may allow less time than its request came with. */
  readonly #keepRouteTime = (): void => {
    const ctx = this.#context();
    const allowed = ctx.decision?.route.timeoutMs ?? null;
    if (allowed === null || ctx.startedAt + allowed >= ctx.deadline) return;
    ctx.deadline = ctx.startedAt + allowed;
    this.#alarm.set(ctx.deadline - this.#options.clock.now(), this.#onDeadline);
  };

  // ── attempts ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A try begins, as Envoy says by opening its stream. */
  attempt(cluster: string, isConnected = false, address = ''): AttemptFlow {
    this.#refused = null;
    return new AttemptFlow({ ...this.#options, owner: this, cluster, isConnected, address });
  }

  get context(): RequestContext {
    return this.#context() as RequestContext;
  }

  get plan(): Plan {
    if (this.#plan === null) throw new GatewayError('internal_error', 'An attempt came before its plan.');
    return this.#plan;
  }

  get closing(): Closing {
    if (this.#closing === null) throw new GatewayError('internal_error', 'An attempt came before its request.');
    return this.#closing;
  }

  readonly onClaimed = (): void => (this.#isDirect ? this.#options.direct?.close() : undefined);

  readonly onRefused = (error: GatewayError): void => {
    this.#refused = error;
  };

  get watch(): Watch {
    return this.#watch;
  }

  get over(): boolean {
    return this.#over;
  }

  // ── response side ───────────────────────────────────────────────────────────────────────────────────────────────

  readonly onResponseHead = (head: ResponseHead, end: boolean): ResponseReply => {
    if (this.#over || this.#closing === null) return this.#ownReply(end);
    this.#delivery = new Delivery({
      flow: this.#options,
      port: this.#port,
      ctx: this.context,
      closing: this.#closing,
      alarm: this.#alarm,
      end: this.#end,
      refused: () => this.#refused,
    });
    return this.#delivery.head(head, end);
  };

  readonly onResponseBody = (chunk: Buffer, end: boolean): ResponseReply =>
    this.#delivery?.body(chunk, end) ?? { kind: 'send', chunks: [chunk], end };

  /** An answer of ours, or one that another filter gave without us having seen the request: it passes as it is. */
  #ownReply(end: boolean): ResponseReply {
    const headers = this.#head === null ? [] : refusalHeaders(shownIdOf(this.#head, ''));
    return { kind: 'send', head: { set: headers }, chunks: [], end };
  }

  // ── endings ─────────────────────────────────────────────────────────────────────────────────────────────────────

  readonly #onDeadline = (): void => {
    const ctx = this.#ctx;
    if (this.#over || ctx === null) return;
    const error =
      this.#plan === null
        ? new GatewayError('request_timeout', 'The request was not ready to be sent within its time limit.')
        : new GatewayError('upstream_timeout', 'The model service did not answer within the time limit.');
    if (this.#delivery?.expire(error) === true) return;
    const response = this.#options.refusal(ctx, error, this.#closing);
    this.#port.push(respond(response, this.#end({ kind: 'failed', error })));
  };

  /** The stream is over before the answer: the client left, or the upstream broke. Envoy's access log knows. */
  readonly close = (): void => {
    if (this.#ctx === null || this.#over) return;
    if (this.#plan === null) {
      this.#endAs('client');
      return;
    }
    if (this.#delivery?.said === true) {
      // Everything was delivered: clients that know the protocol leave at its end.
      this.#end({ kind: 'complete' });
      return;
    }
    this.#closing?.stopClock();
    this.#delivery?.stop();
    this.#alarm.set(VERDICT_MS, () => this.#endAs('client'));
  };

  /** Envoy says that the upstream broke this answer. */
  upstreamCut(): void {
    this.#endAs('upstream');
  }

  /** Our own shutdown has waited long enough. */
  shutDown(): void {
    this.#endAs('shutdown');
  }

  #endAs(by: CutBy): void {
    if (this.#ctx === null || this.#over) return;
    this.#end({ kind: 'cut', by });
  }

  readonly #end = (how: ClosingHow): ReturnType<Closing['end']> => {
    if (this.#over) return undefined;
    this.#over = true;
    this.#alarm.clear();
    this.#delivery?.stop();
    if (this.#ctx !== null) {
      this.#options.metrics.streams('request', -1);
      this.#options.live.remove(this.#ctx.id);
    }
    try {
      return this.#closing?.end(how);
    } finally {
      this.#abort?.abort(OVER);
    }
  };

  #respond(response: LocalResponse): RequestReply {
    if (this.#over) return HOLD;
    const metadata = this.#end({ kind: 'answered', status: response.status });
    const headers = answerHeaders(this.#context(), this.#closing);
    return respond({ ...response, headers: [...response.headers, ...headers] }, metadata);
  }

  // ── the error boundary ──────────────────────────────────────────────────────────────────────────────────────────

  #guard(step: () => MaybePromise<RequestReply>): MaybePromise<RequestReply> {
    try {
      const reply = step();
      return isPromise(reply) ? reply.catch((reason: unknown) => this.#refuse(reason)) : reply;
    } catch (reason) {
      return this.#refuse(reason);
    }
  }

  #refuse(reason: unknown): RequestReply {
    const error = this.#options.asError(reason, this.#ctx);
    if (this.#over) return HOLD;
    if (this.#ctx === null) this.#logUnknown(error);
    const subject = this.#ctx ?? { head: this.#head, config: this.#config };
    const response = this.#options.refusal(subject, error, this.#closing);
    return respond(response, this.#end({ kind: 'failed', error }));
  }

  /** A request that went nowhere has no trace; the log has a line. */
  #logUnknown(error: GatewayError): void {
    const head = this.#head;
    this.#options.log.info('request refused', {
      request_id: head === null ? null : shownIdOf(head, ''),
      method: head?.method ?? null,
      path: head?.path.split('?', 1)[0]?.slice(0, 256) ?? null,
      status: error.status,
      error: error.code,
    });
  }

  #context(): GrowingContext {
    if (this.#ctx === null) throw new GatewayError('internal_error', 'A message came before the request head.');
    return this.#ctx;
  }
}

function respond(
  response: LocalResponse,
  metadata: ReturnType<Closing['end']>,
): Extract<RequestReply, { readonly kind: 'respond' }> {
  return metadata === undefined ? { kind: 'respond', response } : { kind: 'respond', response, metadata };
}
