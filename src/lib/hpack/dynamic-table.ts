import type { HeaderField } from './header-field.ts';

/** The table of RFC 7541, section 2.3.2: the newest entry is the first, and old ones fall out when it grows too large. */
export class DynamicTable {
  /** A ring, so that no entry is ever moved. */
  #ring: (HeaderField | undefined)[] = Array.from({ length: 16 });
  #newest = 0;
  #count = 0;
  #size = 0;
  #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  /** The entry that came `age` entries before the newest. */
  at(age: number): HeaderField | undefined {
    return age < this.#count ? this.#ring[(this.#newest - age) & (this.#ring.length - 1)] : undefined;
  }

  /** An entry that is larger than the whole table empties it, and is not kept. */
  add(field: HeaderField): void {
    this.#evict(this.#capacity - field.size);
    if (field.size > this.#capacity) return;
    if (this.#count === this.#ring.length) this.#grow();
    this.#newest = (this.#newest + 1) & (this.#ring.length - 1);
    this.#ring[this.#newest] = field;
    this.#count += 1;
    this.#size += field.size;
  }

  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#evict(capacity);
  }

  #evict(target: number): void {
    while (this.#size > target && this.#count > 0) {
      this.#count -= 1;
      const oldest = (this.#newest - this.#count) & (this.#ring.length - 1);
      this.#size -= this.#ring[oldest]?.size ?? 0;
      this.#ring[oldest] = undefined;
    }
  }

  #grow(): void {
    const kept = Array.from({ length: this.#count }, (_, index) => this.at(this.#count - 1 - index));
    this.#ring = [...kept, ...Array.from({ length: this.#ring.length * 2 - kept.length }, () => undefined)];
    this.#newest = this.#count - 1;
  }
}
