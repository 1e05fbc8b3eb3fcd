/** Where a model stands that is loaded when it is asked for. */
export interface ShelfPlace {
  /** Names the server; other targets may be models of the same. */
  readonly server: string;
  /** The model's name there. */
  readonly model: string;
  /** Models that it has loaded at once; null = not known. */
  readonly most: number | null;
  /** What nobody asked for so long is taken to be unloaded, milliseconds. */
  readonly keepMs: number;
}

/** What can serve a request: a deployment behind its cluster, or one endpoint of a pool. */
export interface Target {
  /** As people know it: `model@backend`. */
  readonly id: string;
  /** Changes when another server stands behind the id: load and health belong to this. */
  readonly incarnation: string;
  /** Targets that do the same work; their paces are held against each other. */
  readonly group: string;
  /** What fails together: a backend, a host. */
  readonly domain: string;
  /** The backend that it is one endpoint of; left out: it is a whole one, and `domain` names it. */
  readonly pool?: string;
  /** Share among equals, above 0. */
  readonly weight: number;
  /** Requests at once that it is good for; null = not known. */
  readonly capacity: number | null;
  /** Where that is not known: how large it is, of others of its kind; left out: 1. */
  readonly size?: number;
  /** Keys that it keeps warm at once, where that is known; null = not known. */
  readonly warmRoom: number | null;
  /** The server that loads its model when asked; null = it always has it. */
  readonly shelf: ShelfPlace | null;
  readonly price: {
    /** Micro-units for a million tokens. */
    readonly prompt: number;
    readonly completion: number;
    readonly currency: string;
  };
  /** 0..1, for the class of the request. */
  readonly quality: number;
  /** What is believed before anything was seen, milliseconds; null = nothing. */
  readonly prior: {
    readonly firstTokenMs: number | null;
    readonly tokenMs: number | null;
    /** A whole answer. */
    readonly totalMs: number | null;
  };
}

/** What a decision needs to know of a request. */
export interface Ask {
  readonly promptTokens: number;
  /** Tokens that the answer may have; how many it probably has is learned. */
  readonly outputTokens: number;
  /** The longest time that is any use, first to last byte, milliseconds; null = no limit. */
  readonly latencyLimitMs: number | null;
  /** Kind of work: figures and breakers are kept for each. `chat.stream`, `embeddings`. */
  readonly kind: string;
  /** Is it answered piece by piece? The same for all of one kind. */
  readonly stream: boolean;
}

/** A question with what it probably takes where nothing is known of a target's own answers. */
export interface SizedAsk extends Ask {
  /** Tokens, as the others that are asked the same answer; without any, the most that the answer may have. */
  readonly likelyTokens: number;
}

/** How one try at a target ended, as far as the target is to blame or to praise for it. */
export type Outcome =
  /** Answered to the end with so many tokens. */
  | { readonly kind: 'served'; readonly tokens: number }
  /** Its own fault: no connection, 5xx, a broken or senseless answer, silence. */
  | { readonly kind: 'failed' }
  /** Full: 429. It asks to be left alone for so long; null = it does not say. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number | null }
  /** The client's doing: it left, or asked for what cannot be. */
  | { readonly kind: 'neutral' };
