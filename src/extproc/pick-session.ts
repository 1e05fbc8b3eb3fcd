import type { PickExchange, PickExchangeFactory, Picked } from '../core/pick.ts';
import type { BodyMode, ProcessingRequest } from './codec/processing-request.ts';
import type { PhaseChange, ProcessingResponse } from './codec/processing-response.ts';
import { immediateResponse } from './immediate-response.ts';
import { requestHead, responseHead } from './message-heads.ts';
import { MessageOrder } from './message-order.ts';
import { piecesOf } from './response-pieces.ts';
import type { Session, SessionOutput } from './session.ts';

/** Words of the Endpoint Picker protocol. */
const LB = 'envoy.lb';
const SUBSET_HINT = 'envoy.lb.subset_hint';
const DESTINATION = 'x-gateway-destination-endpoint';
const SUBSET = 'x-gateway-destination-endpoint-subset';
const SERVED = 'x-gateway-destination-endpoint-served';

const NO_BYTES = Buffer.alloc(0);

export interface PickSessionOptions {
  readonly factory: PickExchangeFactory;
  readonly output: SessionOutput;
  /** Bytes of a body that are waited for before a pick; a longer one is not looked at. */
  readonly bodyBytes: number;
}

/**
 * The stream of one request of a proxy that asks where to send it. Whatever body modes the proxy chose are served: bodies pass
 * unchanged, and the pick waits for the body where the proxy can hold the head so long (FULL_DUPLEX_STREAMED, BUFFERED).
 */
export class PickSession implements Session {
  readonly #factory: PickExchangeFactory;
  readonly #output: SessionOutput;
  readonly #bodyBytes: number;
  readonly #order = new MessageOrder();
  #exchange: PickExchange | null = null;
  #started = false;
  // What a proxy that does not tell its modes must speak by the protocol.
  #requestMode: BodyMode = 'FULL_DUPLEX_STREAMED';
  #responseMode: BodyMode = 'FULL_DUPLEX_STREAMED';
  #held: Buffer[] = [];
  #heldBytes = 0;
  #picked = false;
  #over = false;

  constructor({ factory, output, bodyBytes }: PickSessionOptions) {
    this.#factory = factory;
    this.#output = output;
    this.#bodyBytes = bodyBytes;
  }

  readonly receive = (message: ProcessingRequest): void => {
    if (!this.#started && message.kind !== 'none') {
      this.#started = true;
      this.#requestMode = message.protocol?.requestBody ?? this.#requestMode;
      this.#responseMode = message.protocol?.responseBody ?? this.#responseMode;
    }
    if (!this.#order.admit(message) || this.#over) return;
    switch (message.kind) {
      case 'request_headers':
        this.#onRequestHead(message);
        return;
      case 'request_body':
        this.#onRequestBody(message);
        return;
      case 'request_trailers':
        if (!this.#picked) this.#pickHeld(false);
        if (!this.#over) this.#output.send({ kind: 'request_trailers' });
        return;
      case 'response_headers':
        this.#onResponseHead(message);
        return;
      case 'response_body':
        this.#onResponseBody(message);
        return;
      case 'response_trailers':
        this.#exchange?.onResponseEnd();
        this.#output.send({ kind: 'response_trailers' });
        return;
      case 'none':
        return;
    }
  };

  readonly owes = (): boolean => this.#exchange !== null && !this.#picked && !this.#over;

  readonly close = (): void => this.#exchange?.close();

  #onRequestHead(message: ProcessingRequest): void {
    const exchange = this.#factory(requestHead(message), subsetOf(message));
    this.#exchange = exchange;
    const waits = this.#requestMode === 'FULL_DUPLEX_STREAMED' || this.#requestMode === 'BUFFERED';
    if (!waits || message.endOfStream) this.#answer('request_headers', exchange.pick(null));
    else if (this.#requestMode === 'BUFFERED') this.#output.send({ kind: 'request_headers', change: {} });
  }

  #onRequestBody({ body, endOfStream }: ProcessingRequest): void {
    if (this.#picked) {
      this.#pass('request_body', this.#requestMode, [body], endOfStream);
    } else if (this.#requestMode === 'BUFFERED') {
      const picked = this.#exchange?.pick(body.length > this.#bodyBytes ? null : body);
      if (picked !== undefined) this.#answer('request_body', picked);
    } else {
      this.#held.push(body);
      this.#heldBytes += body.length;
      if (endOfStream || this.#heldBytes > this.#bodyBytes) this.#pickHeld(endOfStream);
    }
  }

  /** What was held back goes on behind the head. */
  #pickHeld(end: boolean): void {
    const held = this.#held.splice(0);
    const body = this.#heldBytes > this.#bodyBytes ? null : Buffer.concat(held);
    const picked = this.#exchange?.pick(body);
    if (picked === undefined || this.#requestMode !== 'FULL_DUPLEX_STREAMED') return;
    this.#answer('request_headers', picked);
    if (!this.#over && held.length > 0) this.#pass('request_body', this.#requestMode, held, end);
  }

  /** By header and metadata alike: which of them a proxy reads is its own affair. */
  #answer(kind: 'request_headers' | 'request_body', picked: Picked): void {
    this.#picked = true;
    if (picked.kind === 'refused') {
      this.#over = true;
      this.#output.send(immediateResponse(picked.response));
      return;
    }
    const list = picked.addresses.join(',');
    this.#output.send({
      kind,
      change: { set: [[DESTINATION, list]], clearRouteCache: true },
      metadata: { [LB]: { [DESTINATION]: list } },
    });
  }

  #onResponseHead(message: ProcessingRequest): void {
    const exchange = this.#exchange;
    exchange?.onResponseHead(responseHead(message), servedOf(message), this.#responseMode !== 'NONE');
    if (message.endOfStream) exchange?.onResponseEnd();
    this.#output.send({ kind: 'response_headers', change: {} });
  }

  #onResponseBody({ body, endOfStream }: ProcessingRequest): void {
    this.#exchange?.onResponseBody(body);
    if (endOfStream) this.#exchange?.onResponseEnd();
    this.#pass('response_body', this.#responseMode, [body], endOfStream);
  }

  /** A full-duplex body is sent back piece by piece; of any other it is enough to say that it may go on. */
  #pass(kind: 'request_body' | 'response_body', mode: BodyMode, chunks: readonly Buffer[], end: boolean): void {
    const send = (change: PhaseChange): void => this.#output.send({ kind, change } satisfies ProcessingResponse);
    if (mode !== 'FULL_DUPLEX_STREAMED') {
      send({});
      return;
    }
    const pieces = piecesOf(chunks);
    if (pieces.length === 0 && end) pieces.push(NO_BYTES);
    pieces.forEach((bytes, at) => send({ body: { kind: 'piece', bytes, end: end && at === pieces.length - 1 } }));
  }
}

/** Null where the proxy gave none; what is no address in it fits no endpoint. */
function subsetOf(message: ProcessingRequest): ReadonlySet<string> | null {
  const hint = message.metadata(SUBSET_HINT)?.[SUBSET];
  if (hint === undefined || hint === null) return null;
  const all = Array.isArray(hint) ? hint : typeof hint === 'string' ? hint.split(',') : [];
  return new Set(all.flatMap((one) => (typeof one === 'string' ? [one.trim()] : [])));
}

function servedOf(message: ProcessingRequest): string | null {
  const told = message.metadata(LB)?.[SERVED];
  if (typeof told === 'string' && told !== '') return told;
  return message.attributes()['upstream.address'] ?? null;
}
