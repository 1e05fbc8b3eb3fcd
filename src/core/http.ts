/** One header field: lower-case name and value. */
export type HeaderPair = readonly [name: string, value: string];

const NONE: readonly string[] = [];

/** The fields of a message in the order received. Look-ups scan: messages have few fields and most are never asked for. */
export class HeaderList implements Iterable<HeaderPair> {
  readonly #pairs: readonly HeaderPair[];

  constructor(pairs: readonly HeaderPair[]) {
    this.#pairs = pairs;
  }

  /** The first value of `name` (lower-case). */
  get(name: string): string | undefined {
    for (const pair of this.#pairs) if (pair[0] === name) return pair[1];
    return undefined;
  }

  /** Every value of `name` (lower-case), in order. */
  all(name: string): readonly string[] {
    let values: string[] | null = null;
    for (const pair of this.#pairs) if (pair[0] === name) (values ??= []).push(pair[1]);
    return values ?? NONE;
  }

  names(): readonly string[] {
    return this.#pairs.map((pair) => pair[0]);
  }

  [Symbol.iterator](): Iterator<HeaderPair> {
    return this.#pairs[Symbol.iterator]();
  }
}

/** The head of a client's request, or of one attempt. `path` has its query still on. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderList;
}

/** The head of an answer. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
}

/** What Envoy tells beside the message, by attribute name (`xds.cluster_name`, `upstream.address`). */
export type Attributes = Readonly<Record<string, string>>;

/** A whole answer that we give ourselves. */
export interface LocalResponse {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
  /** Goes to Envoy's access log as response code details: a stable code, never text from outside. */
  readonly details: string;
}
