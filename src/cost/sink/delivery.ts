import type { Clock } from '../../core/ports/clock.ts';
import type { LedgerEntry } from '../../core/ports/quota-store.ts';
import type { SinkPosition } from '../../core/ports/sink-positions.ts';
import type { LedgerFollowerOptions } from './follower-options.ts';
import { SinkError } from './ledger-sink.ts';
import { measureLag, type SinkLag } from './measure-lag.ts';
import { type Persistence } from './persistence.ts';
import { toError } from '../../lib/error/to-error.ts';
import { bookedAt, isLater } from './stream-id.ts';

type DeliveryOptions = Pick<LedgerFollowerOptions, 'reader' | 'sink' | 'positions' | 'log' | 'trimmer' | 'batch'> & {
  readonly clock: Pick<Clock, 'time'>;
  readonly signal: AbortSignal;
  readonly insist: Persistence['insist'];
};

/** What a delivery knows of itself. */
interface Figures {
  /** When the oldest booking was made that the sink is known to lack, Unix milliseconds; null = none is known. */
  readonly oldest: number | null;
  readonly lagEvents: number;
  readonly delivered: number;
  readonly cut: number;
}

export interface Delivery {
  /** Delivers what is there now; gives how many entries. */
  readonly pass: () => Promise<number>;
  readonly measure: () => Promise<void>;
  readonly figures: () => Figures;
}

const NO_LAG: SinkLag = { events: 0, oldest: null, tenants: [], heads: [] };

/** Reads page by page, writes batch by batch, and notes how far it came. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const run = new DeliveryRun(options);
  return { pass: () => run.pass(), measure: () => run.measure(), figures: () => run.figures() };
}

class DeliveryRun {
  readonly #options: DeliveryOptions;
  readonly #batch: number;
  #prepared = false;
  #turn = 0;
  #positions = new Map<string, SinkPosition>();
  #waiting: LedgerEntry[] = [];
  /** Where the waiting entries end, by tenant. */
  #reached = new Map<string, SinkPosition>();
  #lag = NO_LAG;
  #delivered = 0;
  #cut = 0;
  /** Up to which number of a tenant's entries what is missing is counted. */
  readonly #cutUpTo = new Map<string, number>();

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#batch = options.batch ?? 5000;
  }

  figures(): Figures {
    const times = this.#waiting.map(({ id, event }) => bookedAt(id) ?? event.time);
    const oldest = times.reduce<number | null>((least, time) => Math.min(least ?? time, time), this.#lag.oldest);
    return { oldest, lagEvents: this.#lag.events, delivered: this.#delivered, cut: this.#cut };
  }

  async measure(): Promise<void> {
    const { reader, positions, sink } = this.#options;
    this.#lag = await measureLag(reader, (await positions.load(sink.place)).tenants);
    // While the sink is away nothing is read: what goes meanwhile shows here.
    for (const { tenant, after, next } of this.#lag.heads) if (after !== null) this.#noteCut(tenant, after, next);
  }

  async pass(): Promise<number> {
    const { reader, positions, sink, signal, insist } = this.#options;
    const before = this.#delivered;
    // Anew each time: somebody may have asked for a repetition.
    const { turn, tenants: known } = await insist(() => positions.load(sink.place));
    this.#turn = turn;
    this.#positions = new Map(known);
    const tenants = await insist(() => reader.tenants());
    // A page of each in turn: no tenant's backlog keeps the others waiting.
    for (let more = tenants; more.length > 0 && !signal.aborted;) {
      const left: string[] = [];
      for (const tenant of more) if (await this.#page(tenant)) left.push(tenant);
      more = left;
    }
    await this.#deliver();
    // The table is made though nothing is there to write: who looks for it finds it.
    if (!this.#prepared) await insist(() => this.#prepare());
    this.#lag = NO_LAG;
    return this.#delivered - before;
  }

  /** Takes the next entries of a tenant; false when there are none. */
  async #page(tenant: string): Promise<boolean> {
    const { reader, insist } = this.#options;
    const after = this.#reached.get(tenant) ?? this.#positions.get(tenant) ?? null;
    const room = this.#batch - this.#waiting.length;
    const entries = await insist(() => reader.read(tenant, after?.id ?? null, room));
    const [first] = entries;
    const last = entries.at(-1);
    if (first === undefined || last === undefined) return false;
    if (after !== null && !this.#reached.has(tenant)) await this.#lookForGap(tenant, after, first);
    for (const entry of entries) this.#waiting.push(entry);
    this.#reached.set(tenant, { id: last.id, number: last.number ?? null });
    if (this.#waiting.length >= this.#batch) await this.#deliver();
    return true;
  }

  /** Between our position and the next entry nothing may be missing. Numbers tell how much is; ids only that it may be. */
  async #lookForGap(tenant: string, after: SinkPosition, first: LedgerEntry): Promise<void> {
    if (this.#noteCut(tenant, after, first)) return;
    const [oldest] = await this.#options.insist(() => this.#options.reader.read(tenant, null, 1));
    if (oldest !== undefined && isLater(oldest.id, after.id)) this.#tellCut(tenant, after, first, 1);
  }

  /** Counts what lies between them and is gone, once. False when their numbers are not known. */
  #noteCut(tenant: string, after: SinkPosition, next: LedgerEntry): boolean {
    if (after.number === null || typeof next.number !== 'number') return false;
    const counted = this.#cutUpTo.get(tenant) ?? 0;
    // A ledger that was rebuilt counts anew.
    const missing = next.number - Math.max(after.number + 1, counted > next.number ? 0 : counted);
    if (missing > 0) {
      this.#cutUpTo.set(tenant, next.number);
      this.#tellCut(tenant, after, next, missing);
    }
    return true;
  }

  #tellCut(tenant: string, after: SinkPosition, first: LedgerEntry, missing: number): void {
    const { sink, log } = this.#options;
    const known = this.#cut > 0;
    this.#cut += missing;
    log[known ? 'debug' : 'error']('entries of the ledger were dropped before the sink had them', {
      sink: sink.name,
      tenant,
      entries: missing,
      position: after.id,
      next: first.id,
    });
  }

  async #prepare(): Promise<void> {
    if (this.#prepared) return;
    await this.#options.sink.prepare(this.#options.signal);
    this.#prepared = true;
  }

  async #write(): Promise<void> {
    await this.#prepare();
    try {
      await this.#options.sink.write(this.#waiting, this.#options.signal);
    } catch (reason) {
      // Perhaps the table is gone.
      if (reason instanceof SinkError && !reason.passing) this.#prepared = false;
      throw reason;
    }
  }

  async #deliver(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const { sink, positions, insist } = this.#options;
    await insist(() => this.#write());
    const saved = await insist(() => positions.save(sink.place, this.#turn, this.#reached));
    this.#delivered += this.#waiting.length;
    const reached = this.#reached;
    this.#waiting = [];
    this.#reached = new Map();
    if (!saved) {
      const { turn, tenants } = await insist(() => positions.load(sink.place));
      this.#turn = turn;
      this.#positions = new Map(tenants);
      return;
    }
    for (const [tenant, position] of reached) this.#positions.set(tenant, position);
    await this.#trim(reached);
  }

  async #trim(reached: ReadonlyMap<string, SinkPosition>): Promise<void> {
    const { trimmer, log } = this.#options;
    if (trimmer === undefined) return;
    try {
      for (const [tenant, { id }] of reached) await trimmer.trim(tenant, id);
    } catch (reason) {
      // What is not trimmed now is trimmed after the tenant's next delivery.
      log.debug('the ledger was not trimmed', { error: toError(reason) });
    }
  }
}
