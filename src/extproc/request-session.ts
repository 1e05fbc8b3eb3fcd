import { type Body, partsOf } from '../core/body-pieces.ts';
import type { RequestExchange, RequestExchangeFactory, RequestPort, RequestReply } from '../core/exchange.ts';
import { isPromise, type MaybePromise } from '../core/maybe-promise.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';
import { requestHead } from './message-heads.ts';
import { MessageOrder } from './message-order.ts';
import { requestProtocol } from './protocol-check.ts';
import { piecesOf } from './response-pieces.ts';
import { ResponseSide } from './response-side.ts';
import type { Session, SessionOutput } from './session.ts';
import { StreamFault } from './stream-fault.ts';

/**
 * What goes to the router in place of the client's body, which would otherwise travel twice: each try replaces it with its
 * own. It has content because an upstream filter can replace a body only where there is one.
 */
const STUB = Buffer.from('{}');
const NO_BYTES = Buffer.alloc(0);

type Forward = Extract<RequestReply, { readonly kind: 'forward' }>;
type RequestKind = 'request_headers' | 'request_body' | 'request_trailers';

export interface RequestSessionOptions {
  readonly factory: RequestExchangeFactory;
  readonly output: SessionOutput;
}

/** The stream of one client request, in the HTTP filter chain. */
export class RequestSession implements Session {
  readonly #factory: RequestExchangeFactory;
  readonly #output: SessionOutput;
  readonly #order = new MessageOrder();
  readonly #response: ResponseSide;
  #exchange: RequestExchange | null = null;
  #started = false;
  /** Envoy holds the body until the head is answered (BUFFERED), instead of sending both on (full duplex). */
  #buffered = false;
  #bodySeen = false;
  #forward: Forward | null = null;
  #forwarded = false;

  constructor({ factory, output }: RequestSessionOptions) {
    this.#factory = factory;
    this.#output = output;
    this.#response = new ResponseSide(output.send);
  }

  readonly receive = (message: ProcessingRequest): MaybePromise<void> => {
    if (!this.#started && message.kind !== 'none') {
      this.#started = true;
      this.#buffered = requestProtocol(message).requestBody === 'BUFFERED';
    }
    if (!this.#order.admit(message) || this.#response.over) return;
    switch (message.kind) {
      case 'request_headers':
      case 'request_body':
      case 'request_trailers':
        return this.#onRequest(message.kind, message);
      case 'response_headers':
        this.#response.onHead(this.#exchange, message);
        return;
      case 'response_body':
        this.#response.onBody(this.#exchange, message.body, message.endOfStream);
        return;
      case 'response_trailers':
        this.#response.onTrailers(this.#exchange);
        return;
      case 'none':
        return;
    }
  };

  readonly owes = (): boolean => {
    if (this.#response.over) return false;
    return (this.#exchange !== null && !this.#forwarded) || this.#response.owes;
  };

  readonly close = (): void => {
    this.#exchange?.close();
  };

  readonly #port: RequestPort = {
    push: (reply) => this.#output.guard(() => this.#response.push(reply)),
  };

  #onRequest(kind: RequestKind, message: ProcessingRequest): MaybePromise<void> {
    if (this.#forwarded) {
      // The whole of a buffered body was answered before its trailers came.
      if (kind === 'request_trailers') this.#output.send({ kind });
      return;
    }
    if (kind === 'request_body') this.#bodySeen = true;
    const end = message.endOfStream || kind === 'request_trailers' || (this.#buffered && kind === 'request_body');
    const reply = this.#ask(kind, message, end);
    const answer = (settled: RequestReply): void => this.#answer(kind, message.endOfStream, end, settled);
    return isPromise(reply) ? reply.then(answer) : answer(reply);
  }

  #ask(kind: RequestKind, message: ProcessingRequest, end: boolean): MaybePromise<RequestReply> {
    if (kind === 'request_headers') {
      this.#exchange = this.#factory(message.attributes(), this.#port);
      return this.#exchange.onRequestHead(requestHead(message), end);
    }
    const exchange = this.#exchange;
    if (exchange === null) throw new StreamFault('invalid', `${kind} out of order`);
    const isBody = kind === 'request_body';
    const trailers = !isBody || (this.#buffered && !message.endOfStream);
    return exchange.onRequestBody(isBody ? message.body : NO_BYTES, end, trailers);
  }

  #answer(kind: RequestKind, last: boolean, end: boolean, reply: RequestReply): void {
    // Answered unasked while this reply was in the making.
    if (this.#response.over) return;
    if (reply.kind === 'respond') {
      this.#response.respond(reply.response, reply.metadata);
      return;
    }
    if (reply.kind === 'forward') this.#forward ??= reply;
    if (end) {
      if (this.#forward !== null) this.#sendForward(kind, last, this.#forward);
    } else if (this.#buffered && kind === 'request_headers') {
      this.#output.send({ kind, change: {} });
    }
  }

  #sendForward(kind: RequestKind, last: boolean, { mutation, body = STUB }: Forward): void {
    this.#forwarded = true;
    const { set = [], remove, metadata } = mutation;
    const told = metadata === undefined ? {} : { metadata };
    const plain = { set, ...(remove === undefined ? {} : { remove }), clearRouteCache: true };
    if (kind === 'request_headers') {
      this.#output.send({ kind, change: plain, ...told });
      return;
    }
    // With trailers a body has no length beforehand.
    const sized = last
      ? { ...plain, set: [...set, ['content-length', String(body.length)] as const] }
      : { ...plain, remove: [...(remove ?? []), 'content-length'] };
    if (this.#buffered) {
      if (kind !== 'request_body') throw new StreamFault('invalid', 'request_trailers without a body');
      this.#output.send({ kind, change: { ...sized, body: { kind: 'whole', bytes: body } }, ...told });
      return;
    }
    this.#output.send({ kind: 'request_headers', change: sized, ...told });
    // A body answer where no body came is one that Envoy did not ask for.
    if (this.#bodySeen) this.#sendBody(body, last);
    if (kind === 'request_trailers') this.#output.send({ kind });
  }

  #sendBody(body: Body, last: boolean): void {
    const pieces = piecesOf(partsOf(body));
    pieces.forEach((bytes, index) => {
      const end = last && index === pieces.length - 1;
      this.#output.send({ kind: 'request_body', change: { body: { kind: 'piece', bytes, end } } });
    });
  }
}
