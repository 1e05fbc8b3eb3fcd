/** What TokenLat said to Envoy about one request, as the bytes of its messages in base64. */
export interface Canned {
  readonly requestHead: string;
  /** Pieces of one body. */
  readonly requestBody: readonly string[];
  /** Null where no try has a stream. */
  readonly attempt: string | null;
  readonly responseHead: string;
  /** Answers to the pieces of the body: the first, those between, the last one with the end. */
  readonly body: { readonly first: string; readonly middle: string; readonly last: string };
}

/** Recorded answers by the name of a payload. */
export type CannedSet = Readonly<Record<string, Canned>>;
