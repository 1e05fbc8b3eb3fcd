import type { Arrived, Authenticated, Received, RequestContext, Routed, Scheduled } from '../../core/context.ts';
import type { Decision } from '../../core/decision.ts';
import type { CutBy, Ending } from '../../core/ending.ts';
import { GatewayError } from '../../core/error.ts';
import type { RequestId } from '../../core/ids.ts';
import { NO_ROOM } from '../../core/job.ts';
import type { Amounts } from '../../core/limit.ts';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { type DirectoryView, NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import type { QueueRow } from '../../core/ports/live.ts';
import type { StateKept } from '../../core/ports/epoch-store.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import type { Attempt, Note, Station, Step } from '../../core/station.ts';
import { NOTHING, takenBy } from '../../core/settlement.ts';
import { PassingMap } from '../../lib/passing-map/passing-map.ts';
import { admit, type Verdict } from './admission.ts';
import { estimateOf } from './estimate.ts';
import { admitRun, leavePlace, placeOf } from './job-run.ts';
import { createLeaseKeeper } from './lease-keeper.ts';
import { Gates, type RateSource } from './gates.ts';
import { endedInQueue, Placement, type Seat } from './placement.ts';
import { askedPriority } from '../../core/batch-work.ts';
import { Rooms } from './rooms.ts';
import { tokensAt } from './tokens-at.ts';
import { type After, afterByTimer } from './waiting-room.ts';

/** What the station leans on. */
export interface ScheduleOptions {
  /** Its `settle` should be a spool's: settlements must outlive an outage of the store. */
  readonly store: QuotaStore;
  /** Concurrency limits are shared out among this many processes, of which this is number `workerIndex` (from 0). */
  readonly workers: number;
  readonly workerIndex: number;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  /** Limits that operators set at run time. */
  readonly directory?: DirectoryView;
  /** Has the store lost what it held, and nobody has said what of it? Default: never. */
  readonly stateLost?: () => StateKept;
  /**
   * Waited for before a settlement, which begins when the request's record is appended: what is not on record is not
   * settled, so that a crash in between leaves a lease that runs out, and that is told of. Must resolve soon whatever happens.
   */
  readonly recorded?: ((config: Snapshot) => MaybePromise<unknown>) | undefined;
  /** Decides anew on a request that waited. Throws what it is refused with. Default: what was decided stays. */
  readonly again?: (ctx: RequestContext) => Decision;
  /** The part of a deployment's endpoints that is well, 0..1. Default: all. */
  readonly aliveOf?: (deployment: Deployment) => number;
  /** Are rates shared out by a store (`Schedule.rates`)? Default: each worker has its part. */
  readonly sharesRates?: boolean;
  readonly after?: After;
}

/** The station, and where its choice of the first candidate is read. */
export interface Schedule {
  readonly station: Station<Arrived & Authenticated & Received, Scheduled>;
  /** Index of the first candidate that has room for this request; 0 before `place`. */
  readonly placementOf: (ctx: Arrived) => number;
  readonly rates: RateSource;
  /** Looks at what changes without a request: endpoints, and who waits for them. To be called some times a second. */
  readonly tick: () => void;
  /** Of models for which somebody waits, or did in the last minute. */
  readonly queues: () => readonly QueueRow[];
}

/** An operator has to do something first. */
const LOSS_RETRY_MS = 30_000;

/** What one request has taken so far, and what must be given back. */
interface Booking {
  verdict: Verdict | null;
  readonly admitting: Promise<unknown>;
  seat: Seat | null;
  /** All that it had, for what it took there must be corrected. */
  readonly seats: Seat[];
  start: number;
  closed: boolean;
}

/** A request whose admission was refused, or never came to an end, took nothing; nor did a job that will be run again. */
function actualAmounts(booking: Booking | undefined, ending: Ending, isJob: boolean): Amounts {
  if (booking === undefined || booking.verdict === null || booking.verdict.kind === 'denied') return NOTHING;
  return isJob && NO_ROOM.has(ending.status) ? NOTHING : takenBy(ending);
}

/** Is a loss to be waited out? */
export function mustRefuse(rule: Snapshot['ledger']['onStateLost'], kept: StateKept): boolean {
  return (rule === 'deny' && kept !== 'kept') || (rule === 'auto' && kept === 'lost');
}

/** What was lost may have been used up already: nothing is served on an empty memory unless that is wished. Throws `state_lost`. */
export function applyLossRule(
  { config }: Pick<Arrived, 'config'>,
  { stateLost }: Pick<ScheduleOptions, 'stateLost'>,
): void {
  const kept = stateLost?.() ?? 'kept';
  if (!mustRefuse(config.ledger.onStateLost, kept)) return;
  throw new GatewayError('state_lost', 'Limits are not known at the moment. Please try again later.', {
    retryAfterMs: LOSS_RETRY_MS,
  });
}

function applyStoreRule(ctx: RequestContext): void {
  if (ctx.admission.kind === 'held' || ctx.decision.route.onStoreError === 'allow') return;
  throw new GatewayError('store_unavailable', 'Limits cannot be checked at the moment. Please try again.', {
    retryAfterMs: 1000,
  });
}

function seatNote({ admission }: RequestContext, { deployment, waitedMs }: Seat): Note {
  const reserved = admission.kind === 'held' ? `${admission.reservedTokens} tokens reserved` : admission.reason;
  return { decision: admission.kind, reason: `${reserved}; slot at ${deployment.id} after ${Math.round(waitedMs)} ms` };
}

/** It has this seat now, and the one before no more. Throws when it is over. */
function sit(ctx: RequestContext, booking: Booking, seat: Seat): Note {
  if (booking.seat !== seat) booking.seats.push(seat);
  if (booking.closed) {
    leave(seat);
    seat.entry?.settle(0);
    throw endedInQueue();
  }
  if (booking.seat !== seat) leave(booking.seat);
  booking.seat = seat;
  return seatNote(ctx, seat);
}

/** The request is over: it leaves, and what it took everywhere takes the place of what was expected. */
function leaveAll(booking: Booking, ending: Ending): void {
  booking.closed = true;
  leave(booking.seat);
  booking.seat = null;
  for (const { deployment, entry } of booking.seats) entry?.settle(tokensAt(ending, deployment));
}

function leave(seat: Seat | null): void {
  seat?.entry?.leave();
}

/** What it will probably take of a deployment: what is reserved for it. */
function tokensOf({ config, request }: RequestContext): number {
  const { promptTokens, outputTokens } = estimateOf(config, request);
  return promptTokens + outputTokens;
}

/** Cuts after which a job is run again under the same operation. */
const BEGUN_ANEW: ReadonlySet<CutBy> = new Set(['client', 'shutdown']);

/** Gives back what was reserved and takes what was used. */
async function settle(
  ctx: Partial<RequestContext> & Arrived,
  booking: Booking | undefined,
  ending: Ending,
  { store, metrics, recorded }: Pick<ScheduleOptions, 'store' | 'metrics' | 'recorded'>,
): Promise<void> {
  const { principal, operation } = ctx;
  // A reservation that is still on its way must be there before it can be settled, or it would be held until its lease ends.
  await booking?.admitting.catch(() => {});
  const actual = actualAmounts(booking, ending, principal?.job !== undefined);
  // What failed in a way of its own may have been booked all the same.
  const verdict = booking?.verdict ?? null;
  const mayHold =
    booking !== undefined && verdict?.kind !== 'denied' && (verdict?.kind !== 'unbooked' || verdict.mayHold);
  // An event of a request that nobody served and nobody booked tells nothing that the log does not.
  const tells = ending.events.some((event) => event.attempt > 0) || verdict?.kind === 'held';
  if (principal === undefined || (!mayHold && !tells)) return;
  // Whoever ran the job is gone, or we are: it is begun anew under the same operation, and that run's use counts.
  if (principal.job !== undefined && ending.kind === 'cut' && BEGUN_ANEW.has(ending.by)) return;
  await recorded?.(ctx.config);
  const outcome = await store.settle({ operation, tenant: principal.tenant, actual, events: ending.events });
  if (outcome === 'late') metrics.anomaly('late_settlement');
}

/** What was taken for the request, and the place of a job's run. Never throws. */
async function settleAll(
  ctx: Partial<RequestContext> & Arrived,
  booking: Booking | undefined,
  ending: Ending,
  options: Pick<ScheduleOptions, 'store' | 'metrics' | 'recorded' | 'log'> & { readonly directory: DirectoryView },
): Promise<void> {
  try {
    await settle(ctx, booking, ending, options);
    if (booking !== undefined && ctx.principal?.job !== undefined) await leavePlace(ctx as RequestContext, options);
  } catch (error) {
    options.metrics.anomaly('settle_failed');
    options.log.error('a request could not be settled', {
      operation: ctx.operation,
      error: error instanceof Error ? error : undefined,
    });
  }
}

/** Reserves quota, holds concurrency slots, and settles at the end. See the README. */
export function createSchedule(options: ScheduleOptions): Schedule {
  const { store, workers, workerIndex, metrics, log, clock, directory = NO_DIRECTORY, recorded } = options;
  /** By request: two runs of one job, of which one has lost it, are under one operation. */
  const bookings = new PassingMap<RequestId, Booking>();
  const finished = new WeakSet<object>();
  const leases = createLeaseKeeper({ store, metrics, log });
  const { again = ({ decision }) => decision, aliveOf = () => 1, sharesRates = false, after = afterByTimer } = options;
  const gates = new Gates({ workers, workerIndex, metrics, clock, sharesRates, aliveOf });
  const rooms = new Rooms({ workers, workerIndex, metrics, clock, after, gates });
  const placement = new Placement({ gates, rooms, metrics, clock, again });

  /** A request that is over has no booking any more, and must not get another one: nobody would give it back. */
  function bookingOf({ id }: Arrived): Booking {
    const booking = bookings.get(id);
    if (booking === undefined) throw endedInQueue();
    return booking;
  }

  async function run(ctx: Arrived & Authenticated & Received): Promise<Step<Scheduled>> {
    if (finished.has(ctx)) throw endedInQueue();
    applyLossRule(ctx, options);
    askedPriority(ctx);
    const isJob = ctx.principal.job !== undefined;
    const admitting = (isJob ? admitRun : admit)(ctx, { store, metrics, directory });
    const booking: Booking = { verdict: null, admitting, seat: null, seats: [], start: 0, closed: false };
    bookings.set(ctx.id, booking);
    const verdict = await admitting;
    booking.verdict = verdict;
    if (verdict.kind === 'denied') throw verdict.error;
    if (verdict.kind === 'unbooked')
      return { note: { decision: 'unbooked', reason: verdict.reason }, adds: { admission: verdict } };
    if (!booking.closed) {
      leases.keep(ctx.id, ctx.operation, ctx.principal.tenant, ctx.config.ledger.leaseMs);
      if (isJob) leases.keep(`${ctx.id} place`, placeOf(ctx), ctx.principal.tenant, ctx.config.ledger.leaseMs);
    }
    const reason = `${verdict.reservedTokens} tokens reserved on ${verdict.limits.length} limits`;
    return { note: { decision: 'held', reason }, adds: { admission: verdict } };
  }

  function place(ctx: RequestContext): MaybePromise<Note | Step<Partial<Routed>>> {
    applyStoreRule(ctx);
    const booking = bookingOf(ctx);
    const seated = (seat: Seat): Note | Step<Partial<Routed>> => {
      booking.start = seat.start;
      const note = sit(ctx, booking, seat);
      return seat.decision === ctx.decision ? note : { note, adds: { decision: seat.decision } };
    };
    const seat = placement.place(ctx, tokensOf(ctx));
    return isPromise(seat) ? seat.then(seated) : seated(seat);
  }

  function attempt(ctx: RequestContext, { candidate }: Attempt): MaybePromise<Note> {
    const booking = bookingOf(ctx);
    const { seat: before } = booking;
    if (before !== null && before.deployment.id === candidate.deployment.id) return sit(ctx, booking, before);
    booking.seat = null;
    leave(before);
    const seat = placement.seatAt(ctx, candidate.deployment, tokensOf(ctx));
    return isPromise(seat) ? seat.then((found) => sit(ctx, booking, found)) : sit(ctx, booking, seat);
  }

  async function finish(ctx: Partial<RequestContext> & Arrived, ending: Ending): Promise<void> {
    if (finished.has(ctx)) return;
    finished.add(ctx);
    const booking = bookings.take(ctx.id);
    leases.letGo(ctx.id);
    leases.letGo(`${ctx.id} place`);
    if (booking !== undefined) leaveAll(booking, ending);
    await settleAll(ctx, booking, ending, { store, metrics, recorded, directory, log });
  }

  return {
    station: { name: 'schedule', run, place, attempt, finish },
    placementOf: ({ id }) => bookings.get(id)?.start ?? 0,
    rates: gates,
    queues: () => rooms.rows(),
    tick: () => {
      gates.refresh();
      rooms.lookAround();
    },
  };
}
