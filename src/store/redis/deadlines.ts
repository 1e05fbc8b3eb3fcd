/** One call under a deadline. */
export interface Deadline {
  readonly at: number;
  /** Null once the call is over. */
  late: (() => void) | null;
}

/**
 * Deadlines that are all equally far away, so that they pass in the order in which they began: one timer for all of them, in
 * place of one that is made and cleared with each call.
 */
export class Deadlines {
  readonly #ms: number;
  #waiting: Deadline[] = [];
  /** Index of the first that may still be waited for. */
  #head = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** `late` is called when `end` was not by then, after one more turn of the loop: the answer may lie in the socket already. */
  begin(late: () => void): Deadline {
    const deadline = { at: performance.now() + this.#ms, late };
    this.#waiting.push(deadline);
    if (this.#timer === null) this.#timer = this.#wait(this.#ms);
    return deadline;
  }

  end(deadline: Deadline): void {
    deadline.late = null;
    while (this.#head < this.#waiting.length && this.#waiting[this.#head]?.late === null) this.#head += 1;
    // What is over is let go in bulk.
    if (this.#head === this.#waiting.length || this.#head > 1024) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }

  #wait(ms: number): NodeJS.Timeout {
    return setTimeout(this.#look, Math.max(1, Math.ceil(ms)));
  }

  readonly #look = (): void => {
    this.#timer = null;
    const now = performance.now();
    for (; this.#head < this.#waiting.length; this.#head += 1) {
      const deadline = this.#waiting[this.#head];
      if (deadline === undefined || deadline.late === null) continue;
      if (deadline.at > now) {
        this.#timer = this.#wait(deadline.at - now);
        return;
      }
      setImmediate(() => deadline.late?.());
    }
    this.#waiting = [];
    this.#head = 0;
  };
}
