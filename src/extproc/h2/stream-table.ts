import type { HeaderList } from '../../lib/hpack/hpack-decoder.ts';
import { PassingMap } from '../../lib/passing-map/passing-map.ts';
import { H2_ERROR, type H2ErrorCode, MAX_STREAM_ID } from './frame.ts';
import { ConnectionError } from './h2-error.ts';
import type { Outlet } from './outlet.ts';
import { areTrailers, readRequestHead, type RequestHead } from './request-head.ts';
import { H2Stream, type StreamHandler } from './stream.ts';

export interface StreamTableOptions {
  readonly outlet: Outlet;
  /** Streams that may be open at once. More are refused, which a peer may try again elsewhere. */
  readonly maxStreams: number;
  /** A request has begun. Gives who takes what follows. */
  readonly onRequest: (stream: H2Stream, head: RequestHead) => StreamHandler;
  /** The last of the open streams has closed. */
  readonly onEmpty: () => void;
}

/** The streams of one connection. */
export class StreamTable {
  readonly #options: StreamTableOptions;
  readonly #open = new PassingMap<number, H2Stream>();
  #last = 0;
  /** No stream above this one is served. */
  #lastServed = MAX_STREAM_ID;

  constructor(options: StreamTableOptions) {
    this.#options = options;
  }

  /** Streams that are open. */
  get size(): number {
    return this.#open.size;
  }

  /** The highest stream that the peer has begun. */
  get last(): number {
    return this.#last;
  }

  /** New streams are not served any more. */
  get isSealed(): boolean {
    return this.#lastServed < MAX_STREAM_ID;
  }

  /** Undefined when it is over. Throws `ConnectionError` when it never was. */
  find(id: number): H2Stream | undefined {
    if (id > this.#last) throw new ConnectionError(H2_ERROR.protocol, `stream ${id} is not open`);
    return this.#open.get(id);
  }

  /** Serves no more streams than have begun by now. */
  seal(): void {
    this.#lastServed = this.#last;
  }

  widenAll(bytes: number): void {
    for (const stream of this.#open.values())
      if (!stream.widen(bytes)) throw new ConnectionError(H2_ERROR.flowControl, 'a window is too large');
  }

  closeAll(): void {
    for (const stream of this.#open.values()) stream.close();
  }

  /** Is this the header block of a new stream? */
  begins(id: number): boolean {
    if ((id & 1) === 0) throw new ConnectionError(H2_ERROR.protocol, 'a stream of an even number');
    return id > this.#last;
  }

  /** A new stream, by its header block. */
  begin(id: number, { fields, isCut }: HeaderList, isEnd: boolean): void {
    this.#last = id;
    if (id > this.#lastServed) return;
    const head = isCut ? null : readRequestHead(fields);
    const length = head === null ? '' : head.field('content-length');
    if (head === null || !/^\d{0,15}$/.test(length)) this.#refuse(id, H2_ERROR.protocol);
    else if (this.#open.size >= this.#options.maxStreams) this.#refuse(id, H2_ERROR.refused);
    else this.#serve(id, head, length === '' ? null : Number(length), isEnd);
  }

  /** A header block behind a body: legal as its end only, and of no use to anybody. False when the stream is over. */
  trail(id: number, { fields, isCut }: HeaderList, isEnd: boolean): boolean {
    const stream = this.find(id);
    if (stream === undefined) return false;
    if (isEnd && !isCut && areTrailers(fields)) stream.receiveEnd();
    else stream.reset(H2_ERROR.protocol);
    return true;
  }

  #serve(id: number, head: RequestHead, contentLength: number | null, isEnd: boolean): void {
    const { outlet, onRequest } = this.#options;
    const stream = new H2Stream({ outlet, id, contentLength, onClosed: this.#onClosed });
    this.#open.set(id, stream);
    const handler = onRequest(stream, head);
    if (stream.isClosed) return;
    stream.handler = handler;
    if (isEnd) stream.receiveEnd();
  }

  #refuse(id: number, code: H2ErrorCode): void {
    this.#options.outlet.out.reset(id, code);
    this.#options.outlet.flushSoon();
  }

  readonly #onClosed = (stream: H2Stream): void => {
    this.#open.take(stream.id);
    if (this.#open.size === 0) this.#options.onEmpty();
  };
}
