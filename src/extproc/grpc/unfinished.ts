export interface UnfinishedLimits {
  /** Bytes of messages that are not whole, of all calls of a server together. */
  readonly bytes: number;
  /** How long one message may take to be whole. */
  readonly ms: number;
}

/** What a server holds for messages that are not whole yet, where its peers are not trusted. */
export class Unfinished {
  readonly ms: number;
  #left: number;

  constructor({ bytes, ms }: UnfinishedLimits) {
    this.#left = bytes;
    this.ms = ms;
  }

  /** Takes so many bytes more, or, with a negative number, gives them back. False when there is no room, and nothing is taken. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }
}
