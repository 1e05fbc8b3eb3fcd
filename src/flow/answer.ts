import type { RequestContext } from '../core/context.ts';
import type { ChatEvent, ClientDialect, ResponseDecoder, ResponseEncoder } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { ResponseReply } from '../core/exchange.ts';
import type { HeaderPair, ResponseHead } from '../core/http.ts';
import type { Mutation } from '../core/mutation.ts';
import { cleanError } from '../stations/wrap/clean-error.ts';
import type { UsageMeter } from './usage-meter.ts';

/** How an answer stands once it is over. */
export type AnswerEnd =
  | { readonly kind: 'complete' }
  | { readonly kind: 'failed'; readonly error: GatewayError; readonly begun: boolean }
  | { readonly kind: 'cut' };

export interface AnswerOptions {
  readonly ctx: RequestContext;
  readonly upstreamHead: ResponseHead;
  readonly decoder: ResponseDecoder;
  readonly encoder: ResponseEncoder;
  readonly meter: UsageMeter;
  /** Headers of the client's answer, known before its body. */
  readonly headers: () => readonly HeaderPair[];
  /** Headers that say what a whole answer used. */
  readonly usageHeaders: () => readonly HeaderPair[];
  readonly errorHead: (error: GatewayError, raw?: Buffer) => { readonly head: Mutation; readonly body: Uint8Array };
  /** Called once, before the last piece is given out: its metadata goes with that piece. */
  readonly onEnd: (end: AnswerEnd) => Mutation['metadata'];
  readonly onFirstOutput: () => void;
}

const HOLD: ResponseReply = { kind: 'hold' };

/** Headers of an upstream's answer that a client may see. Everything else stays with us. */
const PASSED = new Set([
  'date',
  'content-type',
  'cache-control',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'openai-processing-ms',
  'openai-version',
  'openai-model',
  'x-envoy-upstream-service-time',
]);

/**
 * One upstream answer on its way to the client, synchronous from chunk to chunk. The head is held until the first piece is
 * understood (a stream) or the whole body is there (anything else), so that an error still gets its own status.
 */
export class Answer {
  readonly #options: AnswerOptions;
  readonly #stream: boolean;
  #pending: Buffer[] = [];
  #headSent = false;
  #ended = false;
  /** The upstream has said all that it will say, though its bytes may not be over. */
  #said = false;
  #micros = 0;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#stream = options.ctx.request.stream;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get begun(): boolean {
    return this.#headSent;
  }

  /** Our own time with this answer so far. */
  get micros(): number {
    return this.#micros;
  }

  /** Said to its end by its protocol, or at least with a finish reason for every choice, while the upstream stays open. */
  get lingering(): 'said' | 'finished' | null {
    if (this.#ended || !this.#stream) return null;
    if (this.#said) return 'said';
    return this.#options.meter.finishes >= this.#options.ctx.request.n ? 'finished' : null;
  }

  /** Nothing more comes, or nothing more is waited for. */
  close(): ResponseReply {
    return this.push(Buffer.alloc(0), true);
  }

  push(chunk: Buffer, end: boolean): ResponseReply {
    if (this.#ended || (this.#said && !end)) return HOLD;
    const began = performance.now();
    const { decoder } = this.#options;
    const events = chunk.length === 0 ? [] : decoder.push(chunk);
    const all = end && !this.#said ? [...events, ...decoder.end()] : events;
    this.#micros += Math.round((performance.now() - began) * 1000);
    return this.#take(all, end);
  }

  /** Ends a stream with what was said so far; `null` when the client has seen nothing of it yet. */
  cutShort(lastChunks: ClientDialect['cutShort']): ResponseReply | null {
    if (this.#ended || !this.#stream || !this.#headSent) return null;
    this.#keep(lastChunks(this.#options.encoder, this.#options.meter.cut().usage));
    return this.#finish({ kind: 'cut' }, [['x-timeout-reason', 'upstream_timeout']]);
  }

  /** Replaces the answer by an error; only before its head went out. */
  fail(error: GatewayError): ResponseReply {
    return this.#error(error, undefined);
  }

  #take(events: readonly ChatEvent[], upstreamOver: boolean): ResponseReply {
    const { meter, encoder } = this.#options;
    const began = meter.producedOutput;
    const failed = events.findIndex((event) => event.kind === 'error' || (event.kind === 'end' && !event.clean));
    const sound = failed === -1 ? events : events.slice(0, failed);
    for (const event of sound) {
      if (event.kind === 'chunk' || event.kind === 'answer') meter.add(event.facts);
      if (event.kind === 'end') this.#said = true;
    }
    if (!began && meter.producedOutput) this.#options.onFirstOutput();
    const failure = events[failed];
    if (failure?.kind === 'error') {
      if (failure.usage !== null) meter.told(failure.usage);
      return this.#error(failure.error, failure.raw, sound);
    }
    if (failure !== undefined) return this.#error(interrupted(), undefined, sound);
    this.#keep(encoder.write(events));
    if (upstreamOver && this.#said) return this.#finish({ kind: 'complete' }, []);
    if (upstreamOver) return this.#error(interrupted(), undefined);
    return this.#stream && this.#pending.length > 0 ? this.#send(false, []) : HOLD;
  }

  #error(told: GatewayError, toldRaw: Buffer | undefined, before: readonly ChatEvent[] = []): ResponseReply {
    const { encoder, ctx } = this.#options;
    const { error, raw } = cleanError(told, toldRaw, ctx.config);
    const begun = this.#headSent || (this.#stream && before.some((event) => event.kind === 'chunk'));
    if (begun) {
      this.#pending.push(
        ...encoder.write([...before, { kind: 'error', error, usage: null, ...(raw === undefined ? {} : { raw }) }]),
      );
      return this.#finish({ kind: 'failed', error, begun }, []);
    }
    this.#ended = true;
    this.#headSent = true;
    const metadata = this.#options.onEnd({ kind: 'failed', error, begun });
    const { head, body } = this.#options.errorHead(error, raw);
    const replaced = { ...head, remove: [...(head.remove ?? []), ...this.#hiddenHeaders(head.set ?? [])] };
    return send(replaced, [body], true, metadata);
  }

  /** One by one: a burst of tiny events may be more than a call takes arguments. */
  #keep(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) this.#pending.push(chunk);
  }

  #finish(end: AnswerEnd, headers: readonly HeaderPair[]): ResponseReply {
    this.#ended = true;
    const metadata = this.#options.onEnd(end);
    return this.#send(true, headers, metadata);
  }

  #send(end: boolean, extra: readonly HeaderPair[], metadata?: Mutation['metadata']): ResponseReply {
    const chunks = this.#pending;
    this.#pending = [];
    if (this.#headSent) return send(undefined, chunks, end, metadata);
    this.#headSent = true;
    const set: HeaderPair[] = [
      ['content-type', this.#options.encoder.contentType],
      ...this.#options.headers(),
      ...extra,
    ];
    if (this.#stream) set.push(['cache-control', 'no-cache'], ['x-accel-buffering', 'no']);
    else {
      const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      set.push(...this.#options.usageHeaders(), ['content-length', String(length)]);
    }
    return send({ set, remove: this.#hiddenHeaders(set) }, chunks, end, metadata);
  }

  /** Lists are short: comparing is cheaper than sets of them. */
  #hiddenHeaders(set: readonly HeaderPair[]): readonly string[] {
    const hidden: string[] = [];
    for (const [name] of this.#options.upstreamHead.headers) {
      if (name.startsWith(':') || PASSED.has(name) || hidden.includes(name)) continue;
      if (!set.some((pair) => pair[0] === name)) hidden.push(name);
    }
    return hidden;
  }
}

function send(
  head: Mutation | undefined,
  chunks: readonly Uint8Array[],
  end: boolean,
  metadata: Mutation['metadata'],
): ResponseReply {
  return {
    kind: 'send',
    chunks,
    end,
    ...(head === undefined ? {} : { head }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function interrupted(): GatewayError {
  return new GatewayError('upstream_stream_interrupted', 'The model service stopped before its answer was complete.');
}
