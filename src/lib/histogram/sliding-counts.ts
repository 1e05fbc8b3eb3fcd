export interface SlidingCountsOptions {
  /** Figures that are counted side by side. */
  readonly size: number;
  /** Length of the window, and how many pieces it moves on in. */
  readonly windowMs: number;
  readonly slots: number;
}

/**
 * Sums over a window that moves on by a piece at a time: it covers between `slots - 1` and `slots` pieces. Adding costs the
 * same however much was counted, and allocates nothing once each piece was used.
 */
export class SlidingCounts {
  readonly #size: number;
  readonly #slotMs: number;
  /** A piece is made when it is first needed: most figures are idle most of the time. */
  readonly #slots: (Float64Array | null)[];
  readonly #epochs: Float64Array;

  constructor({ size, windowMs, slots }: SlidingCountsOptions) {
    this.#size = size;
    this.#slotMs = windowMs / slots;
    this.#slots = Array.from({ length: slots }, () => null);
    this.#epochs = new Float64Array(slots).fill(-1);
  }

  /** @param now - Monotonic milliseconds, not negative. */
  add(index: number, amount: number, now: number): void {
    const slot = this.#slotAt(now);
    slot[index] = (slot[index] ?? 0) + amount;
  }

  /** Sums of the window that ends at `now`. */
  sums(now: number): Float64Array {
    const sums = new Float64Array(this.#size);
    const epoch = Math.floor(now / this.#slotMs);
    this.#slots.forEach((slot, at) => {
      const age = epoch - (this.#epochs[at] ?? -1);
      if (slot === null || age < 0 || age >= this.#slots.length) return;
      for (let index = 0; index < this.#size; index += 1) sums[index] = (sums[index] ?? 0) + (slot[index] ?? 0);
    });
    return sums;
  }

  #slotAt(now: number): Float64Array {
    const epoch = Math.floor(now / this.#slotMs);
    const at = epoch % this.#slots.length;
    let slot = this.#slots[at] ?? null;
    if (slot === null) this.#slots[at] = slot = new Float64Array(this.#size);
    if (this.#epochs[at] === epoch) return slot;
    slot.fill(0);
    this.#epochs[at] = epoch;
    return slot;
  }
}
