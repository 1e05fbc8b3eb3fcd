import type { AttemptExchange, AttemptExchangeFactory, AttemptReply, AttemptRequest } from '../core/exchange.ts';
import type { LocalResponse } from '../core/http.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';
import { immediateResponse } from './immediate-response.ts';
import { requestHead, responseHead } from './message-heads.ts';
import { MessageOrder } from './message-order.ts';
import { attemptProtocol } from './protocol-check.ts';
import type { Session, SessionOutput } from './session.ts';
import { StreamFault } from './stream-fault.ts';

/** The namespace in which the request says its id. */
const REQUEST_NAMESPACE = 'tokenlat.request';

export interface AttemptSessionOptions {
  readonly factory: AttemptExchangeFactory;
  /** The request's id as the initial metadata told it; empty where it did not. */
  readonly id: string;
  readonly output: SessionOutput;
}

/**
 * The stream of one try, in the upstream filter chain. Where no body is watched it never ends the stream itself: Envoy
 * resets a call that we end early, and a flood of resets costs the whole connection. Where one is watched it never answers
 * a body: it answers the head when the body has told enough, and ends.
 */
export class AttemptSession implements Session {
  readonly #factory: AttemptExchangeFactory;
  readonly #id: string;
  readonly #output: SessionOutput;
  readonly #order = new MessageOrder();
  #exchange: AttemptExchange | null = null;
  #closed = false;
  #started = false;
  #watchesBody = false;
  /** Unanswered messages: the request's head, then the response's. */
  #open = 0;
  #over = false;

  constructor({ factory, id, output }: AttemptSessionOptions) {
    this.#factory = factory;
    this.#id = id;
    this.#output = output;
  }

  readonly receive = (message: ProcessingRequest): MaybePromise<void> => {
    if (!this.#started && message.kind !== 'none') {
      this.#started = true;
      this.#watchesBody = attemptProtocol(message).responseBody === 'STREAMED';
    }
    if (!this.#order.admit(message) || this.#over) return;
    switch (message.kind) {
      case 'request_headers':
        return this.#onRequestHead(message);
      case 'response_headers':
        return this.#onResponseHead(message);
      case 'response_body':
        return this.#onResponseBody(message);
      case 'request_body':
      case 'request_trailers':
      case 'response_trailers':
        throw new StreamFault('precondition', `a try is sent ${message.kind}: its processing mode must skip them`);
      case 'none':
        return;
    }
  };

  readonly owes = (): boolean => this.#open > 0;

  readonly close = (): void => {
    this.#closed = true;
    this.#exchange?.close();
  };

  #onRequestHead(message: ProcessingRequest): MaybePromise<void> {
    this.#open++;
    const made = this.#factory(this.#id === '' ? forwardedId(message) : this.#id, message.attributes());
    const ask = (exchange: AttemptExchange): MaybePromise<void> => {
      if (this.#closed) {
        exchange.close();
        return;
      }
      this.#exchange = exchange;
      const reply = exchange.onRequestHead(requestHead(message));
      return isPromise(reply) ? reply.then(this.#answerRequest) : this.#answerRequest(reply);
    };
    return isPromise(made) ? made.then(ask) : ask(made);
  }

  readonly #answerRequest = (
    reply: AttemptRequest | { readonly kind: 'respond'; readonly response: LocalResponse },
  ): void => {
    this.#open--;
    if (reply.kind === 'respond') {
      this.#over = true;
      this.#output.send(immediateResponse(reply.response));
      return;
    }
    const { set = [], remove = [], metadata } = reply.mutation;
    this.#output.send({
      kind: 'request_headers',
      change: { replace: true, set, remove, body: { kind: 'whole', bytes: reply.body } },
      ...(metadata === undefined ? {} : { metadata }),
    });
  };

  #onResponseHead(message: ProcessingRequest): MaybePromise<void> {
    this.#open++;
    const exchange = this.#exchange;
    if (exchange === null) {
      this.#continue({ kind: 'continue', mutation: {} });
      return;
    }
    // Without a body to come a head that is held would be held for ever.
    const last = message.endOfStream || !this.#watchesBody;
    return this.#settle(exchange.onResponseHead(responseHead(message), message.endOfStream), last);
  }

  #onResponseBody(message: ProcessingRequest): MaybePromise<void> {
    const exchange = this.#exchange;
    if (exchange === null || this.#open === 0) return;
    return this.#settle(exchange.onResponseBody(message.body, message.endOfStream), message.endOfStream);
  }

  #settle(reply: MaybePromise<AttemptReply>, last: boolean): MaybePromise<void> {
    const answer = (settled: AttemptReply): void => {
      if (settled.kind === 'continue') this.#continue(settled);
      else if (last) this.#continue({ kind: 'continue', mutation: {} });
    };
    return isPromise(reply) ? reply.then(answer) : answer(reply);
  }

  #continue({ mutation }: Extract<AttemptReply, { readonly kind: 'continue' }>): void {
    this.#open--;
    this.#over = true;
    const { set = [], remove = [], metadata } = mutation;
    this.#output.send({
      kind: 'response_headers',
      change: { set, remove },
      ...(metadata === undefined ? {} : { metadata }),
    });
    if (this.#watchesBody) this.#output.finish();
  }
}

/** The id from forwarded metadata, for a configuration that cannot put it into the initial metadata. */
function forwardedId(message: ProcessingRequest): string {
  const id = message.metadata(REQUEST_NAMESPACE)?.['id'];
  return typeof id === 'string' ? id : '';
}
