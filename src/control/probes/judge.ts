/** What a look says: well, not well, or (null) nothing about that. */
export interface Look {
  readonly up: boolean | null;
  /** For people, short. */
  readonly detail: string;
}

/** Looks in a row that change one's mind. */
export interface Patience {
  readonly failures: number;
  readonly successes: number;
}

/** What is thought of one place: one look alone changes nothing, unless it is said to. */
export class Judge {
  readonly #patience: Patience;
  #down: boolean;
  #against = 0;
  detail = '';

  /** @param isDown - What was thought of it so far. */
  constructor(patience: Patience, isDown: boolean) {
    this.#patience = patience;
    this.#down = isDown;
  }

  get isDown(): boolean {
    return this.#down;
  }

  note({ up, detail }: Look): void {
    if (up === null) return;
    if (!up) this.detail = detail;
    if (up !== this.#down) {
      this.#against = 0;
      return;
    }
    this.#against += 1;
    if (this.#against < (up ? this.#patience.successes : this.#patience.failures)) return;
    this.#down = !up;
    this.#against = 0;
  }
}
