import type { Json } from './json.ts';

/** The endpoints with a model behind them. */
export type Endpoint = 'chat' | 'completions' | 'embeddings';

/** Bytes `[start, end)` of a body. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One text that a model would read, and where it stands (`messages[0].content[1].text`). */
export interface TextPart {
  readonly param: string;
  readonly role: string;
  readonly text: string;
}

/** A client's request, understood and checked. `raw` is never changed: each attempt derives its own body from it. */
export interface ChatRequest {
  readonly endpoint: Endpoint;
  readonly raw: Buffer;
  /** The same body parsed. Null-prototype-safe: read own keys only. */
  readonly json: { readonly [key: string]: Json };
  /** Where each top-level value stands in `raw`, by key. */
  readonly spans: ReadonlyMap<string, Span>;
  readonly model: string;
  readonly stream: boolean;
  /** Did the client ask for the usage chunk (`stream_options.include_usage`)? */
  readonly includeUsage: boolean;
  /** The client's bound on output tokens per choice. */
  readonly maxOutputTokens: number | null;
  /** Number of choices. */
  readonly n: number;
  /** Every text that a model would read. */
  readonly texts: readonly TextPart[];
  /** Our estimate of the prompt's tokens. */
  readonly promptTokens: number;
}
