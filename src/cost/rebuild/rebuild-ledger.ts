import type { LimitLine } from '../../core/limit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { StateLoss } from '../../core/ports/epoch-store.ts';
import type { LedgerReader, QuotaStore } from '../../core/ports/quota-store.ts';
import { periodAt } from '../../lib/calendar/calendar-period.ts';
import { type Held, readHeld } from './held-operations.ts';
import type { AuditBooking } from './read-booking.ts';

export interface RebuildOptions {
  /** In batches, in any order. */
  readonly bookings: AsyncIterable<readonly AuditBooking[]>;
  readonly quota: Pick<QuotaStore, 'admit' | 'settle'>;
  readonly reader: LedgerReader;
  /** What was lost; null = not known. */
  readonly loss: StateLoss | null;
  readonly leaseMs: number;
  readonly clock: Pick<Clock, 'time'>;
  /** Looks only. */
  readonly dryRun: boolean;
  /** Bookings under way at the same time. */
  readonly atOnce?: number;
}

export interface RebuildReport {
  /** Requests that were booked anew; by a dry run, that would be. */
  booked: number;
  /** Requests that the ledger held already. */
  held: number;
  /** Events of those that were booked anew, and their cost in micro-units by currency: the tenants' and our own. */
  events: number;
  readonly cost: Map<string, bigint>;
}

/**
 * Books again what the ledger has lost: events, sums, and the counters of windows that are still running. By the operation, so
 * that it may be done again and while requests are served. Sliding windows count from now on: they are never too short. Throws
 * `StoreUnavailable`; what was booked by then stays.
 */
export async function rebuildLedger(options: RebuildOptions): Promise<RebuildReport> {
  const { bookings, reader, loss, dryRun, atOnce = 64 } = options;
  const report: RebuildReport = { booked: 0, held: 0, events: 0, cost: new Map() };
  const tenants = new Map<string, Held>();
  const underWay = new Set<Promise<void>>();
  let failure: { readonly reason: unknown } | null = null;

  const heldBy = async (tenant: string): Promise<Held> => {
    const held = tenants.get(tenant) ?? (await readHeld(reader, tenant, loss));
    tenants.set(tenant, held);
    return held;
  };
  const book = async (booking: AuditBooking): Promise<void> => {
    const isNew = dryRun || (await bookAnew(booking, options));
    if (isNew) count(report, booking);
    else report.held += 1;
  };

  for await (const batch of bookings) {
    for (const booking of batch) {
      const held = await heldBy(booking.tenant);
      if (held.has(booking.operation, settledAt(booking))) {
        report.held += 1;
        continue;
      }
      held.add(booking.operation);
      const work = book(booking)
        .catch((reason: unknown) => void (failure ??= { reason }))
        .finally(() => underWay.delete(work));
      underWay.add(work);
      if (underWay.size >= atOnce) await Promise.race(underWay);
      if (failure !== null) break;
    }
    if (failure !== null) break;
  }
  await Promise.all(underWay);
  rethrow(failure);
  return report;
}

function rethrow(failure: { readonly reason: unknown } | null): void {
  if (failure !== null) throw failure.reason;
}

/** Takes what was taken and settles it at once. False when the store knew the operation. */
async function bookAnew(
  { tenant, operation, events, taken, lines }: AuditBooking,
  { quota, leaseMs, clock }: RebuildOptions,
): Promise<boolean> {
  const time = events[0]?.time ?? 0;
  const running = lines.filter((line) => isRunning(line, time, clock.time()));
  if (running.length > 0)
    await quota.admit({ operation, tenant, lines: running, amounts: taken, leaseMs, onExpiry: null });
  return (await quota.settle({ operation, tenant, actual: taken, events })) !== 'repeated';
}

/** Does the window that the request fell into count today? */
function isRunning({ window }: LimitLine, time: number, now: number): boolean {
  if (window.kind === 'concurrent') return false;
  if (window.kind === 'sliding') return now - time < window.seconds * 1000;
  return periodAt(time, window.unit, window.zone).id === periodAt(now, window.unit, window.zone).id;
}

/** By our clock. */
function settledAt({ events }: AuditBooking): number {
  return Math.max(...events.map(({ time, totalMs }) => time + totalMs));
}

function count(report: RebuildReport, { events }: AuditBooking): void {
  report.booked += 1;
  report.events += events.length;
  for (const { currency, cost } of events) report.cost.set(currency, (report.cost.get(currency) ?? 0n) + BigInt(cost));
}
