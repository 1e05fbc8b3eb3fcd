import type { RequestContext } from '../core/context.ts';
import { GatewayError } from '../core/error.ts';
import type { RequestPort, ResponseReply } from '../core/exchange.ts';
import type { ResponseHead } from '../core/http.ts';
import { Alarm } from './alarm.ts';
import type { Answer } from './answer.ts';
import type { Closing } from './closing.ts';
import type { ClosingHow } from './closing-how.ts';
import type { FlowOptions } from './flow-options.ts';
import { isUnasked, localReplyError, wasSent } from './local-reply.ts';
import { openAnswer } from './open-answer.ts';
import { errorHead } from './response-heads.ts';

const WAIT: ResponseReply = { kind: 'hold' };

/** How long an answer that is `said` or `finished` may leave its upstream's connection open before we end it ourselves. */
const LINGER_MS = { said: 1000, finished: 5000 };

export interface DeliveryOptions {
  readonly flow: FlowOptions;
  readonly port: RequestPort;
  readonly ctx: RequestContext;
  readonly closing: Closing;
  /** The alarm of the request's deadline, which a lingering answer takes over. */
  readonly alarm: Alarm;
  readonly end: (how: ClosingHow) => ReturnType<Closing['end']>;
  /** Why we refused a try ourselves: then the answer at hand is our own. */
  readonly refused: () => GatewayError | null;
}

/** The response side of one request: an upstream's answer on its way to the client, or an error in its place. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #silence = new Alarm();
  #answer: Answer | null = null;
  #heardAt = 0;
  #lingering: Answer['lingering'] = null;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** The client has had all of it, though the upstream's connection may still be open. */
  get said(): boolean {
    return this.#answer?.lingering === 'said';
  }

  head(head: ResponseHead, end: boolean): ResponseReply {
    return this.#guard(() => {
      const { flow, ctx, closing } = this.#options;
      const failure = this.#options.refused() ?? localReplyError(head);
      const isSent = wasSent(head);
      if (isSent !== null) closing.attempts.told(isSent);
      if (isUnasked(head)) closing.attempts.unmade();
      if (failure !== null) return this.#replace(failure);
      if (closing.current === null) {
        throw new GatewayError('internal_error', 'The answer came from no known attempt.');
      }
      const answer = openAnswer(flow, ctx, closing, head, this.#options.end);
      this.#answer = answer;
      this.#heardAt = flow.clock.now();
      this.#silence.set(ctx.config.timeouts.idleMs, this.#onSilence);
      return end ? answer.close() : WAIT;
    });
  }

  body(chunk: Buffer, end: boolean): ResponseReply {
    return this.#guard(() => {
      const answer = this.#answer;
      if (answer === null) return WAIT;
      this.#heardAt = this.#options.flow.clock.now();
      const reply = answer.push(chunk, end);
      this.#linger(answer.lingering);
      return reply;
    });
  }

  /** The time is up: ends what was begun, or puts the error in its place. False when no answer has come yet. */
  expire(error: GatewayError): boolean {
    const answer = this.#answer;
    if (answer === null || answer.ended) return false;
    this.#options.port.push(answer.cutShort(this.#options.flow.client.cutShort) ?? answer.fail(error));
    return true;
  }

  stop(): void {
    this.#silence.clear();
  }

  /** The upstream has said nothing for too long in the middle of its answer. One timer a request, not one a chunk. */
  readonly #onSilence = (): void => {
    const { flow, ctx, port } = this.#options;
    const answer = this.#answer;
    if (answer === null || answer.ended) return;
    const left = this.#heardAt + ctx.config.timeouts.idleMs - flow.clock.now();
    if (left > 0) {
      this.#silence.set(left, this.#onSilence);
      return;
    }
    port.push(answer.fail(new GatewayError('upstream_timeout', 'The model service fell silent in its answer.')));
  };

  /** The answer is whole, but its upstream keeps the connection open: what it still says does not lengthen our patience. */
  #linger(state: Answer['lingering']): void {
    if (state === null || state === this.#lingering) return;
    this.#lingering = state;
    this.#silence.clear();
    const { alarm, ctx, flow, port } = this.#options;
    // Envoy ends a silent answer a second after its own patience: ours must be over before.
    const patience = Math.min(LINGER_MS[state], ctx.config.timeouts.idleMs);
    alarm.set(Math.min(patience, ctx.deadline - flow.clock.now()), () => {
      if (this.#answer !== null && !this.#answer.ended) port.push(this.#answer.close());
    });
  }

  #guard(step: () => ResponseReply): ResponseReply {
    try {
      return step();
    } catch (reason) {
      const error = this.#options.flow.asError(reason, this.#options.ctx);
      if (this.#answer === null) return this.#replace(error);
      return this.#answer.ended ? WAIT : this.#answer.fail(error);
    }
  }

  #replace(error: GatewayError): ResponseReply {
    const { ctx, closing, end } = this.#options;
    const { head, body } = errorHead(ctx, closing, error);
    const metadata = end({ kind: 'failed', error });
    return { kind: 'send', head, chunks: [body], end: true, ...(metadata === undefined ? {} : { metadata }) };
  }
}
