/** Counts of the last minute or so, by second. Reading costs one addition a second of the window. */
export class SecondCounts {
  readonly #seconds: number;
  readonly #kinds: number;
  readonly #cells: Int32Array;
  #newest = -Infinity;

  /**
   * @param seconds - How many are kept.
   * @param kinds - How many things are counted side by side.
   */
  constructor(seconds: number, kinds: number) {
    this.#seconds = seconds;
    this.#kinds = kinds;
    this.#cells = new Int32Array(seconds * kinds);
  }

  /** @param now - Milliseconds; an earlier second than the newest counts as the newest. */
  add(kind: number, now: number): void {
    const cell = this.#cellOf(this.#forward(now)) + kind;
    this.#cells[cell] = (this.#cells[cell] ?? 0) + 1;
  }

  /** Counts of one kind in the last `seconds`, the running one included. */
  sum(kind: number, seconds: number, now: number): number {
    const newest = this.#forward(now);
    let sum = 0;
    for (let back = 0; back < Math.min(seconds, this.#seconds); back += 1)
      sum += this.#cells[this.#cellOf(newest - back) + kind] ?? 0;
    return sum;
  }

  clear(): void {
    this.#cells.fill(0);
  }

  #cellOf(second: number): number {
    return (((second % this.#seconds) + this.#seconds) % this.#seconds) * this.#kinds;
  }

  #forward(now: number): number {
    const second = Math.floor(now / 1000);
    if (second <= this.#newest) return this.#newest;
    const from = Math.max(this.#newest + 1, second - this.#seconds + 1);
    for (let at = from; at <= second; at += 1) {
      const cell = this.#cellOf(at);
      this.#cells.fill(0, cell, cell + this.#kinds);
    }
    this.#newest = second;
    return second;
  }
}
