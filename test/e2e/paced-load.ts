/** At most so many are sent at once when the machine was busy: a burst would be a load of its own. */
const MOST_AT_ONCE = 3;
const TICK_MS = 10;

/** Requests at a steady rate, of which some are a test's own: what a test sends does not change the load. */
export class PacedLoad {
  readonly #filler: () => Promise<unknown>;
  readonly #own: (() => Promise<void>)[] = [];
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(filler: () => Promise<unknown>) {
    this.#filler = filler;
  }

  /** @param rate - Requests a second, from now on. */
  run(rate: number): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    let before = performance.now();
    let due = 0;
    this.#timer = setInterval(() => {
      const now = performance.now();
      due = Math.min(MOST_AT_ONCE, due + ((now - before) * rate) / 1000);
      before = now;
      for (; due >= 1; due -= 1) this.#send(this.#own.shift() ?? (async () => void (await this.#filler())));
    }, TICK_MS);
  }

  /** Sends in the place of one of the load's requests. */
  send<T>(request: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#own.push(() => request().then(resolve, reject));
    });
  }

  /** Resolves when all answers are there. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#running);
  }

  #send(request: () => Promise<void>): void {
    const sent = request().catch(() => {});
    this.#running.add(sent);
    void sent.finally(() => this.#running.delete(sent));
  }
}
