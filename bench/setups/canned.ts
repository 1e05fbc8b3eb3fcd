/** What TokenLat said to Envoy about one request, as the bytes of its messages in base64. */
export interface Canned {
  readonly requestHead: string;
  readonly requestBody: string;
  readonly attempt: string;
  readonly responseHead: string;
  /** Answers to the pieces of the body: the first, those between, the last one with the end. */
  readonly body: { readonly first: string; readonly middle: string; readonly last: string };
}

/** Recorded answers by the name of a payload. */
export type CannedSet = Readonly<Record<string, Canned>>;
