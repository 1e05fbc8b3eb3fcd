/** Something that waits its turn. */
export interface Waiting {
  /** Whose it is: flows get equal amounts. */
  readonly flow: string;
  /** What its turn costs, above 0. */
  readonly cost: number;
  /** Of one flow, who must go soonest goes first. */
  readonly deadline: number;
}

interface Flow<T> {
  readonly name: string;
  /** By deadline, then by arrival. */
  readonly items: T[];
  /** What it may still take in its turn. */
  credit: number;
}

/** What a flow that waits for nothing is remembered by. */
interface Idle {
  readonly credit: number;
  /** The lane's clock when it left. */
  readonly since: number;
}

/** Flows that are remembered while nothing of them waits. */
const MOST_IDLE = 10_000;
/** A flow that took little lately may take so many quanta in a row when it comes back. */
const MOST_CREDIT = 64;

/**
 * Deficit round robin over flows, earliest deadline first inside a flow. Unlike the usual one it does not forget a flow that
 * waits for nothing: what the others got meanwhile is its credit, up to `MOST_CREDIT` quanta, so that who asks little goes
 * ahead of who asks for everything all the time. Looking at who is next changes nothing.
 */
export class Lane<T extends Waiting> {
  readonly #quantum: number;
  /** In the order of their turns; the first one's turn is now. */
  #ring: Flow<T>[] = [];
  readonly #byName = new Map<string, Flow<T>>();
  readonly #idle = new Map<string, Idle>();
  /** Amount that each flow that waited all the time got so far. */
  #clock = 0;
  #size = 0;

  constructor(quantum: number) {
    this.#quantum = quantum;
  }

  get size(): number {
    return this.#size;
  }

  sizeOf(flow: string): number {
    return this.#byName.get(flow)?.items.length ?? 0;
  }

  add(item: T): void {
    const flow = this.#byName.get(item.flow) ?? this.#enter(item.flow);
    flow.items.splice(placeAfter(flow.items, item.deadline), 0, item);
    this.#size += 1;
  }

  /** False: it was not there (any more). */
  remove(item: T): boolean {
    const flow = this.#byName.get(item.flow);
    const at = flow === undefined ? -1 : indexOf(flow.items, item);
    if (flow === undefined || at < 0) return false;
    flow.items.splice(at, 1);
    this.#size -= 1;
    if (flow.items.length === 0) this.#leave(flow);
    return true;
  }

  /** The one that is next among those that `fits`; null: nobody fits. */
  next(fits: (item: T) => boolean): T | null {
    let best: { readonly item: T; readonly rounds: number } | null = null;
    for (let at = 0; at < this.#ring.length; at += 1) {
      const flow = this.#ring[at] as Flow<T>;
      const item = flow.items.find(fits);
      if (item === undefined) continue;
      const rounds = this.#roundsOf(item, flow);
      if (best === null || rounds < best.rounds) best = { item, rounds };
      if (rounds === 0) break;
    }
    return best?.item ?? null;
  }

  /** Its turn is taken: that of one that `next()` gave, whatever it fitted. */
  take(item: T): void {
    const at = this.#ring.findIndex(({ name }) => name === item.flow);
    const flow = this.#ring[at];
    if (flow === undefined) throw new RangeError('not in the queue');
    const rounds = this.#roundsOf(item, flow);
    this.#clock += item.cost / this.#ring.length;
    for (const [index, other] of this.#ring.entries())
      other.credit = Math.min(
        MOST_CREDIT * this.#quantum,
        other.credit + (rounds + (index < at ? 1 : 0)) * this.#quantum,
      );
    // Room for one that costs more than the most that may be saved.
    flow.credit = Math.max(flow.credit, item.cost) - item.cost;
    this.#ring = [...this.#ring.slice(at), ...this.#ring.slice(0, at)];
    this.remove(item);
  }

  /** The last one of the flow with most that wait; null where `flow` itself has as many, or would have. */
  victim(flow: string | null): T | null {
    let longest: Flow<T> | null = null;
    for (const each of this.#ring) if (each.items.length > (longest?.items.length ?? 0)) longest = each;
    if (longest === null || (flow !== null && longest.items.length <= this.sizeOf(flow) + 1)) return null;
    return longest.items.at(-1) ?? null;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const { items } of this.#ring) yield* items;
  }

  /** How often its flow's turn passes before it can pay. */
  #roundsOf({ cost }: T, { credit }: Flow<T>): number {
    return Math.max(0, Math.ceil((cost - credit) / this.#quantum));
  }

  #enter(name: string): Flow<T> {
    const idle = this.#idle.get(name);
    this.#idle.delete(name);
    const saved = idle === undefined ? 0 : idle.credit + this.#clock - idle.since;
    const flow: Flow<T> = { name, items: [], credit: Math.min(MOST_CREDIT * this.#quantum, saved) };
    this.#ring.push(flow);
    this.#byName.set(name, flow);
    return flow;
  }

  #leave(flow: Flow<T>): void {
    this.#ring = this.#ring.filter((each) => each !== flow);
    this.#byName.delete(flow.name);
    this.#idle.set(flow.name, { credit: flow.credit, since: this.#clock });
    if (this.#idle.size <= MOST_IDLE) return;
    const [oldest] = this.#idle.keys();
    if (oldest !== undefined) this.#idle.delete(oldest);
  }
}

function placeAfter(items: readonly Waiting[], deadline: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle] as Waiting).deadline <= deadline) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Among those of its deadline, which stand side by side. */
function indexOf<T extends Waiting>(items: readonly T[], item: T): number {
  for (let at = placeAfter(items, item.deadline) - 1; at >= 0; at -= 1) {
    const other = items[at] as T;
    if (other === item) return at;
    if (other.deadline < item.deadline) return -1;
  }
  return -1;
}
