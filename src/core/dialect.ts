import type { Body } from './body-pieces.ts';
import type { ChatRequest, Endpoint } from './chat-request.ts';
import type { GatewayError } from './error.ts';
import type { HeaderPair, RequestHead, ResponseHead } from './http.ts';
import type { Deployment, Limits } from './snapshot.ts';
import type { Usage } from './usage.ts';

/** A request as a backend wants it. Absolute: nothing of an earlier attempt may shine through. */
export interface UpstreamRequest {
  /** Path with query, after the backend's base path. */
  readonly path: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Body;
}

/** What we know of a piece of an answer without reading it again. */
export interface ChunkFacts {
  /** Text, tool call or any other output in it? */
  readonly content: boolean;
  /** Characters of output in it (UTF-16 units), for estimates. */
  readonly outputChars: number;
  readonly finishReason: string | null;
  /** Cumulative: the last one wins. */
  readonly usage: Usage | null;
  /** Why a usage that was there was not taken (`odd_prompt`, `inconsistent`, …): the answer passes, the ledger marks it. */
  readonly usageFlag?: string;
  /** True for a chunk that holds usage and no choice: hidden from a client that did not ask. */
  readonly usageOnly: boolean;
}

/**
 * A step of an answer. The hub between dialects is OpenAI's JSON as bytes: `chunk.data` is one `chat.completion.chunk`
 * (or `text_completion`) object, `answer.data` a whole non-stream body; bytes of an OpenAI backend pass through unchanged.
 */
export type ChatEvent =
  | { readonly kind: 'chunk'; readonly data: Buffer; readonly facts: ChunkFacts }
  | { readonly kind: 'answer'; readonly data: Buffer; readonly facts: ChunkFacts }
  | { readonly kind: 'comment'; readonly text: Buffer }
  /** `raw`: the upstream's own body where it is an OpenAI error object, with the fields that it lacked filled in. */
  | { readonly kind: 'error'; readonly error: GatewayError; readonly usage: Usage | null; readonly raw?: Buffer }
  /** The upstream finished as its protocol says. `clean` is false when the bytes just stopped. */
  | { readonly kind: 'end'; readonly clean: boolean };

/** Synchronous, push-driven, O(n) in bytes whatever the cut. `end` is called once, when the upstream's bytes are over. */
export interface ResponseDecoder {
  push(chunk: Buffer): readonly ChatEvent[];
  end(): readonly ChatEvent[];
}

/** Bounds on the shape of a body. */
export type JsonLimits = Pick<Limits, 'jsonDepth' | 'jsonKeys'>;

/** What a decoder must know of the try whose answer it reads. */
export interface DecodeContext {
  readonly request: ChatRequest;
  readonly deployment: Deployment;
  /** The `model` the client shall read in the answer. */
  readonly modelShown: string;
  /** `chatcmpl-…`, for dialects that have no id of their own. */
  readonly answerId: string;
  /** Unix seconds, likewise. */
  readonly created: number;
  readonly maxEventBytes: number;
  readonly maxAnswerBytes: number;
}

/** The wire protocol of a backend. */
export interface BackendDialect {
  readonly name: string;
  /** Throws `GatewayError` (`unsupported_parameter`, with `param`) for what cannot be carried: nothing is dropped. */
  readonly encode: (request: ChatRequest, deployment: Deployment) => UpstreamRequest;
  readonly decoder: (head: ResponseHead, context: DecodeContext) => ResponseDecoder;
}

/** Turns events into what goes to the client. */
export interface ResponseEncoder {
  /** Content type of the answer. */
  readonly contentType: string;
  write(events: readonly ChatEvent[]): Buffer[];
}

export interface EncodeContext {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Choices asked for; 1 when left out. Needed to close every open choice of a stream that is cut short. */
  readonly n?: number;
  /** What a stream that is cut short before its first chunk says of itself. */
  readonly answer?: {
    readonly endpoint: Endpoint;
    readonly id: string;
    readonly created: number;
    readonly model: string;
  };
}

/** The wire protocol of a client. */
export interface ClientDialect {
  readonly name: string;
  /** Throws `GatewayError` with `param`. */
  readonly parse: (head: RequestHead, body: Buffer, limits: JsonLimits) => ChatRequest;
  readonly encoder: (context: EncodeContext) => ResponseEncoder;
  /** A whole error body. */
  readonly error: (error: GatewayError) => Buffer;
  /** The last chunks of a stream that we end ourselves with `finish_reason: "length"` (`[DONE]` included). */
  readonly cutShort: (encoder: ResponseEncoder, usage?: Usage | null) => Buffer[];
}
