import type { RequestContext } from '../../core/context.ts';
import type { Decision } from '../../core/decision.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { QueueRow } from '../../core/ports/live.ts';
import type { Priority, QueueRefusal } from '../../core/priority.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { FairQueue, type QueueBounds, type Queued } from '../../lib/fair-queue/fair-queue.ts';
import { bucketOf, BUCKETS, sparseOf } from '../../lib/histogram/log-histogram.ts';
import { SlidingCounts } from '../../lib/histogram/sliding-counts.ts';
import type { Ahead, Entry, Gate } from './gate.ts';
import { toError } from '../../lib/error/to-error.ts';

/** Where a request may go, in the order in which it would. `gate` null: there is always room. */
export interface Option {
  readonly deployment: Deployment;
  /** Index among the candidates. */
  readonly start: number;
  readonly gate: Gate | null;
}

/** Where it may go by what is known now. */
export interface Choice {
  readonly decision: Decision;
  readonly options: readonly Option[];
}

/** A request that wants to wait. */
export interface Wish {
  readonly ctx: RequestContext;
  readonly priority: Priority;
  /** In tokens. */
  readonly cost: number;
  readonly options: readonly Option[];
  readonly timeoutMs: number;
  /** Asked when its turn has come: what was decided before the wait may be out of date. Throws what it is refused with. */
  readonly again: () => Choice;
}

export type Waited =
  | { readonly kind: 'seated'; readonly option: Option; readonly entry: Entry | null; readonly decision: Decision }
  /** `aborted`: the request is over. */
  | { readonly kind: 'refused'; readonly why: QueueRefusal | 'aborted' };

/** Runs something later; gives what takes it back. */
export type After = (ms: number, work: () => void) => () => void;

export const afterByTimer: After = (ms, work) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

export interface WaitingRoomOptions extends QueueBounds {
  readonly model: string;
  readonly batchShare: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly after: After;
  readonly metrics: Pick<Metrics, 'queue' | 'waited'>;
}

interface Guest extends Queued {
  readonly wish: Wish;
  readonly since: number;
  /** Deployments that it may go to. */
  gates: ReadonlySet<Gate>;
  readonly end: (outcome: Waited | Error) => void;
}

const WINDOW = { windowMs: 60_000, slots: 12 };
/** Tokens that each tenant gets in a round. */
const QUANTUM = 2048;
/** Requests that decide anew without room having been told of, each time. */
const MOST_LOOKS = 8;
const LANES = { interactive: 0, batch: 1 } as const satisfies Record<Priority, 0 | 1>;

/**
 * Those who wait for a model. When there is room at one of its deployments, the next one in order is asked where it goes now,
 * and goes there. Nobody overtakes who could have gone himself.
 */
export class WaitingRoom {
  readonly #options: WaitingRoomOptions;
  readonly #queue: FairQueue<Guest>;
  readonly #counts = new SlidingCounts({ size: 1, ...WINDOW });
  readonly #waits = new SlidingCounts({ size: BUCKETS, ...WINDOW });
  readonly #timers = new Map<Gate, () => void>();
  #pumping = false;

  constructor(options: WaitingRoomOptions) {
    this.#options = options;
    this.#queue = new FairQueue({ ...options, quantum: QUANTUM, secondShare: options.batchShare });
  }

  change(bounds: QueueBounds, batchShare: number): void {
    this.#queue.change({ ...bounds, secondShare: batchShare });
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Does somebody wait for this deployment? */
  hasFor(gate: Gate): boolean {
    for (const { gates } of this.#queue) if (gates.has(gate)) return true;
    return false;
  }

  /** Waits for a turn. Rejects with what `again` throws. */
  wait(wish: Wish): Promise<Waited> {
    return new Promise((resolve, reject) => {
      this.join(wish, (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
    });
  }

  /** The same for who cannot wait for a promise: `end` is called once, perhaps before this returns. */
  join(wish: Wish, end: (outcome: Waited | Error) => void): void {
    const { signal } = wish.ctx;
    if (signal.aborted || wish.timeoutMs <= 0) {
      end({ kind: 'refused', why: signal.aborted ? 'aborted' : 'queue_timeout' });
      return;
    }
    const onAbort = (): void => this.#dismiss(guest, 'aborted');
    const guest = this.#guestOf(wish, (outcome) => {
      stop();
      signal.removeEventListener('abort', onAbort);
      this.#tell(guest);
      end(outcome);
    });
    const stop = this.#options.after(wish.timeoutMs, () => this.#dismiss(guest, 'queue_timeout'));
    signal.addEventListener('abort', onAbort, { once: true });
    const out = this.#queue.add(guest);
    if (out === null) {
      guest.end({ kind: 'refused', why: guest.bytes > this.#queue.freeBytes ? 'queue_bytes' : 'queue_full' });
      return;
    }
    for (const each of out) each.end({ kind: 'refused', why: 'displaced' });
    this.#tell(guest);
    for (const gate of guest.gates) this.#pump(gate);
  }

  /** There may be room at this deployment. */
  roomAt(gate: Gate): void {
    if (this.#queue.size > 0) this.#pump(gate);
  }

  /** Others than were thought of may have room by now, or nobody may be left: those who are next decide anew. */
  lookAround(): void {
    const stayed = new Set<Guest>();
    while (stayed.size < MOST_LOOKS) {
      const guest = this.#queue.next((each) => !stayed.has(each));
      if (guest === null) return;
      if (!this.#seat(guest)) stayed.add(guest);
    }
  }

  /** Somebody was sent away for want of room. */
  refused(): void {
    this.#counts.add(0, 1, this.#options.clock.now());
  }

  /** What happens here; null: nobody waits, and nothing happened in the last minute. */
  row(): QueueRow | null {
    const now = this.#options.clock.now();
    const [refused = 0] = this.#counts.sums(now);
    const waits = sparseOf(this.#waits.sums(now));
    if (this.size === 0 && refused === 0 && waits.length === 0) return null;
    const oldest = [...this.#queue].reduce((least, { since }) => Math.min(least, since), now);
    return {
      model: this.#options.model,
      interactive: this.#queue.sizeOf(LANES.interactive),
      batch: this.#queue.sizeOf(LANES.batch),
      oldestMs: Math.round(now - oldest),
      refused,
      waits,
    };
  }

  /** How long until one who came now would have its turn at one of these, milliseconds; null = nobody can tell. */
  drainMs({ priority, cost, options }: Pick<Wish, 'priority' | 'cost' | 'options'>): number | null {
    const before = [...this.#queue].filter(({ lane }) => lane <= LANES[priority]);
    const ahead: Ahead = { requests: before.length, tokens: before.reduce((sum, each) => sum + each.cost, 0) };
    // They all serve those who wait, each at its own pace.
    const pace = options.reduce((sum, { gate }) => sum + 1 / (gate === null ? 0 : gate.drainMs(cost, ahead)), 0);
    return pace > 0 ? 1 / pace : null;
  }

  #guestOf(wish: Wish, end: Guest['end']): Guest {
    const { ctx, priority, cost, options } = wish;
    return {
      wish,
      since: this.#options.clock.now(),
      lane: LANES[priority],
      flow: ctx.principal.tenant,
      cost: Math.max(1, cost),
      deadline: ctx.deadline,
      bytes: ctx.request.raw?.length ?? 0,
      gates: gatesOf(options),
      end,
    };
  }

  #dismiss(guest: Guest, why: QueueRefusal | 'aborted'): void {
    if (this.#queue.remove(guest)) guest.end({ kind: 'refused', why });
  }

  #pump(gate: Gate): void {
    // What happens while somebody is seated may say that there is room: it is looked at here anyway.
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      const stayed = new Set<Guest>();
      for (;;) {
        const guest = this.#queue.next((each) => each.gates.has(gate) && !stayed.has(each));
        if (guest === null) return;
        if (!gate.fits(guest.wish.cost)) {
          this.#lookAgain(gate, gate.waitMs(guest.wish.cost));
          return;
        }
        if (!this.#seat(guest)) stayed.add(guest);
      }
    } finally {
      this.#pumping = false;
    }
  }

  /** False: it stays, for it may not go there any more. */
  #seat(guest: Guest): boolean {
    let choice: Choice;
    try {
      choice = guest.wish.again();
    } catch (reason) {
      this.#queue.remove(guest);
      guest.end(toError(reason));
      return true;
    }
    for (const option of choice.options) {
      const entry = option.gate === null ? null : option.gate.enter(guest.wish.cost);
      if (option.gate !== null && entry === null) continue;
      const now = this.#options.clock.now();
      this.#queue.take(guest);
      this.#waits.add(bucketOf(now - guest.since), 1, now);
      this.#options.metrics.waited(guest.wish.priority, now - guest.since);
      guest.end({ kind: 'seated', option, entry, decision: choice.decision });
      return true;
    }
    guest.gates = gatesOf(choice.options);
    return false;
  }

  #lookAgain(gate: Gate, ms: number): void {
    this.#timers.get(gate)?.();
    this.#timers.delete(gate);
    // Without a wait it is a slot that is missing, and who leaves says so; without a rate, a new share says so.
    if (ms <= 0 || !Number.isFinite(ms)) return;
    const stop = this.#options.after(Math.max(1, Math.ceil(ms)), () => {
      this.#timers.delete(gate);
      this.roomAt(gate);
    });
    this.#timers.set(gate, stop);
  }

  #tell({ lane, wish }: Guest): void {
    this.#options.metrics.queue(this.#options.model, wish.priority, this.#queue.sizeOf(lane));
  }
}

function gatesOf(options: readonly Option[]): ReadonlySet<Gate> {
  return new Set(options.flatMap(({ gate }) => (gate === null ? [] : [gate])));
}
