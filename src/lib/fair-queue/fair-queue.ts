import { Lane, type Waiting } from './lane.ts';

/** Something that waits in one of two lanes. */
export interface Queued extends Waiting {
  /** 0 goes before 1. */
  readonly lane: 0 | 1;
  /** Memory that it holds while it waits. */
  readonly bytes: number;
}

/** What may wait. */
export interface QueueBounds {
  readonly size: number;
  readonly bytes: number;
}

export interface FairQueueOptions extends QueueBounds {
  /** What a flow gets each round. */
  readonly quantum: number;
  /** The part (above 0, below 1) of all that is given out which the second lane gets while both wait. */
  readonly secondShare: number;
}

/**
 * A bounded queue of two lanes: the first goes before the second, which gets its share all the same; in a lane flows get
 * equal amounts (`Lane`). When it is full, who comes takes the place of one with less claim to it: of a lane that holds more
 * than its share, or of the flow with most that wait. It knows no time: who waited too long is taken out by its owner.
 */
export class FairQueue<T extends Queued> {
  readonly #lanes: readonly [Lane<T>, Lane<T>];
  /** What each lane got, by its share; the lane that would have less after its turn is next. */
  readonly #paid: [number, number] = [0, 0];
  #shares: readonly [number, number];
  #bounds: QueueBounds;
  #bytes = 0;

  constructor({ quantum, secondShare, size, bytes }: FairQueueOptions) {
    this.#lanes = [new Lane(quantum), new Lane(quantum)];
    this.#shares = [1 - secondShare, secondShare];
    this.#bounds = { size, bytes };
  }

  get size(): number {
    return this.#lanes[0].size + this.#lanes[1].size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What may still wait. */
  get freeBytes(): number {
    return Math.max(0, this.#bounds.bytes - this.#bytes);
  }

  sizeOf(lane: 0 | 1): number {
    return this.#lanes[lane].size;
  }

  /** New bounds; who waits stays, also beyond them. */
  change({ size, bytes, secondShare }: QueueBounds & Pick<FairQueueOptions, 'secondShare'>): void {
    this.#bounds = { size, bytes };
    this.#shares = [1 - secondShare, secondShare];
  }

  /** Takes it in where there is room, or where others make room: those are given, and no longer in the queue. Null: no room. */
  add(item: T): readonly T[] | null {
    const out: T[] = [];
    while (!this.#hasRoom(item)) {
      const victim = item.bytes > this.#bounds.bytes || this.#bounds.size < 1 ? null : this.#victimOf(item);
      if (victim === null) {
        for (const each of out) this.#enter(each);
        return null;
      }
      this.remove(victim);
      out.push(victim);
    }
    this.#enter(item);
    return out;
  }

  /** False: it was not there (any more). */
  remove(item: T): boolean {
    if (!this.#lanes[item.lane].remove(item)) return false;
    this.#bytes -= item.bytes;
    return true;
  }

  /** Who is next among those that `fits`; changes nothing. */
  next(fits: (item: T) => boolean): T | null {
    const [first, second] = [this.#lanes[0].next(fits), this.#lanes[1].next(fits)];
    if (first === null || second === null) return first ?? second;
    return this.#tagOf(1, second) < this.#tagOf(0, first) ? second : first;
  }

  /** Its turn has come: that of one that `next` gave. */
  take(item: T): void {
    if (this.#lanes[0].size > 0 && this.#lanes[1].size > 0) this.#paid[item.lane] = this.#tagOf(item.lane, item);
    this.#lanes[item.lane].take(item);
    this.#bytes -= item.bytes;
  }

  *[Symbol.iterator](): Generator<T> {
    yield* this.#lanes[0];
    yield* this.#lanes[1];
  }

  #tagOf(lane: 0 | 1, { cost }: T): number {
    return this.#paid[lane] + cost / this.#shares[lane];
  }

  #enter(item: T): void {
    const other = item.lane === 0 ? 1 : 0;
    // Nobody saves up while the other lane goes alone.
    if (this.#lanes[item.lane].size === 0) this.#paid[item.lane] = Math.max(this.#paid[item.lane], this.#paid[other]);
    this.#lanes[item.lane].add(item);
    this.#bytes += item.bytes;
  }

  #hasRoom({ bytes }: T): boolean {
    return this.size < this.#bounds.size && this.#bytes + bytes <= this.#bounds.bytes;
  }

  /** Each lane keeps its share of the places, so that none can be kept out by the other for good. */
  #victimOf({ lane, flow }: T): T | null {
    const { size } = this.#bounds;
    const kept = size < 2 ? 0 : Math.max(1, Math.floor(size * this.#shares[1]));
    const waiting = this.#lanes[1].size;
    if (lane === 0 && waiting > kept) return this.#lanes[1].victim(null);
    if (lane === 1 && waiting < kept) return this.#lanes[0].victim(null);
    return this.#lanes[lane].victim(flow);
  }
}
