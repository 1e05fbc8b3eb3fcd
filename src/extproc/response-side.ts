import type { RequestExchange, RequestPort, ResponseReply } from '../core/exchange.ts';
import type { LocalResponse, ResponseHead } from '../core/http.ts';
import type { Mutation } from '../core/mutation.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';
import { immediateResponse } from './immediate-response.ts';
import { responseHead } from './message-heads.ts';
import { piecesOf } from './response-pieces.ts';
import type { SessionOutput } from './session.ts';
import { StreamFault } from './stream-fault.ts';

const NO_BYTES = Buffer.alloc(0);

/** Response code details of an upstream's answer that we replaced before any of its body was there. */
const REPLACED = 'replaced';

type Send = Extract<ResponseReply, { readonly kind: 'send' }>;

/**
 * The response half of a request's stream, in FULL_DUPLEX_STREAMED mode. Envoy takes a piece of body only once it has sent
 * us one itself; before that a whole answer of ours goes out in place of the upstream's, and anything less waits.
 */
export class ResponseSide {
  readonly #send: SessionOutput['send'];
  #upstream: ResponseHead | null = null;
  /** The upstream's head was all: no body message can follow, so none can be answered with a body. */
  #headOnly = false;
  #headSent = false;
  #bodySeen = false;
  readonly #early: Uint8Array[] = [];
  #trailersWait = false;
  /** The flow has said all that it will. */
  #ended = false;
  #replaced = false;
  #metadata: Mutation['metadata'];

  constructor(send: SessionOutput['send']) {
    this.#send = send;
  }

  /** A whole answer of ours went out: what Envoy still says on this stream is not for us. */
  get over(): boolean {
    return this.#replaced;
  }

  get owes(): boolean {
    return this.#upstream !== null && !this.#ended;
  }

  onHead(exchange: RequestExchange | null, message: ProcessingRequest): void {
    if (exchange === null) {
      this.#send({ kind: 'response_headers', change: {} });
      return;
    }
    this.#upstream = responseHead(message);
    this.#headOnly = message.endOfStream;
    this.#reply(exchange.onResponseHead(this.#upstream, message.endOfStream));
  }

  onBody(exchange: RequestExchange | null, body: Buffer, end: boolean): void {
    if (exchange === null) {
      this.#sendPieces([body], end);
      return;
    }
    if (!this.#bodySeen) {
      this.#bodySeen = true;
      const early = this.#early.splice(0);
      if (early.length > 0 || this.#ended) this.#sendPieces(early, this.#ended);
    }
    if (!this.#ended) this.#reply(exchange.onResponseBody(body, end));
  }

  onTrailers(exchange: RequestExchange | null): void {
    if (exchange === null) {
      this.#send({ kind: 'response_trailers' });
      return;
    }
    if (this.#ended) return;
    this.#trailersWait = true;
    this.#reply(exchange.onResponseBody(NO_BYTES, true));
  }

  /** What the flow says unasked. Ignored once it is too late for it. */
  push(reply: Parameters<RequestPort['push']>[0]): void {
    if (reply.kind === 'respond') {
      if (!this.#headSent) this.respond(reply.response, reply.metadata);
    } else if (this.#upstream !== null) this.#reply(reply);
  }

  /** Answers in place of the upstream. Legal until the response's head went out. */
  respond(response: LocalResponse, metadata?: Mutation['metadata']): void {
    if (this.#replaced) return;
    this.#replaced = true;
    this.#send(immediateResponse(response, metadata));
  }

  #reply(reply: ResponseReply): void {
    if (reply.kind === 'hold' || this.#ended || this.#replaced) return;
    if (reply.metadata !== undefined) this.#metadata = reply.metadata;
    if (!this.#headSent) {
      if (reply.end && !this.#bodySeen) {
        this.#answerWithoutBody(reply);
        return;
      }
      this.#headSent = true;
      this.#sendHead(reply.head ?? {});
    }
    this.#ended = reply.end;
    if (!this.#bodySeen) {
      for (const chunk of reply.chunks) if (chunk.length > 0) this.#early.push(chunk);
      if (this.#trailersWait) this.#endWithTrailers();
      return;
    }
    this.#sendPieces(reply.chunks, reply.end && !this.#trailersWait);
    if (reply.end && this.#trailersWait) this.#endWithTrailers();
  }

  #endWithTrailers(): void {
    if (this.#early.length > 0) throw new StreamFault('internal', 'an answer has no body to put its pieces in');
    if (this.#ended) this.#send({ kind: 'response_trailers', ...this.#takeMetadata() });
  }

  #sendHead({ set = [], remove = [] }: Mutation): void {
    // Whatever length the upstream told is not the length of what we send.
    const lengthSet = set.some(([name]) => name === 'content-length');
    const change = { set, remove: lengthSet ? remove : [...remove, 'content-length'] };
    this.#send({ kind: 'response_headers', change, ...this.#takeMetadata() });
  }

  #sendPieces(chunks: readonly Uint8Array[], end: boolean): void {
    const pieces = piecesOf(chunks);
    if (pieces.length === 0 && end) pieces.push(NO_BYTES);
    const last = pieces.length - 1;
    pieces.forEach((bytes, index) => {
      const body = { kind: 'piece', bytes, end: end && index === last } as const;
      this.#send({ kind: 'response_body', change: { body }, ...this.#takeMetadata() });
    });
  }

  /** The whole answer, and no body message to answer: without a body it changes the head, with one it replaces all. */
  #answerWithoutBody(reply: Send): void {
    const { set = [], remove = [] } = reply.head ?? {};
    const body = Buffer.concat(reply.chunks);
    this.#ended = true;
    if (body.length === 0 && (this.#headOnly || this.#trailersWait)) {
      this.#headSent = true;
      this.#send({ kind: 'response_headers', change: { set, remove }, ...this.#takeMetadata() });
      if (this.#trailersWait) this.#endWithTrailers();
      return;
    }
    const status = Number(set.find(([name]) => name === ':status')?.[1] ?? this.#upstream?.status);
    const headers = set.filter(([name]) => name !== ':status' && name !== 'content-length');
    this.respond({ status, headers, body, details: REPLACED }, this.#takeMetadata().metadata);
  }

  #takeMetadata(): { readonly metadata?: Mutation['metadata'] } {
    const metadata = this.#metadata;
    if (metadata === undefined) return {};
    this.#metadata = undefined;
    return { metadata };
  }
}
