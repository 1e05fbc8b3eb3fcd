import { existsSync } from 'node:fs';
import { readRecords, type RecordFilter } from '../audit/read-records.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { AuditBooking } from '../cost/rebuild/read-booking.ts';
import { readBooking } from '../cost/rebuild/read-booking.ts';
import { rebuildLedger, type RebuildReport } from '../cost/rebuild/rebuild-ledger.ts';
import type { Reading } from './open-reading.ts';
import { StartupError } from './startup-error.ts';

export interface RebuildFromAuditOptions {
  readonly stores: Reading;
  /** Folders of audit logs, one a machine. */
  readonly dirs: readonly string[];
  /** Of the requests' arrival. */
  readonly filter: Pick<RecordFilter, 'from' | 'to'>;
  readonly dryRun: boolean;
}

/** What came of it, and what the audit could not tell. */
export interface RebuiltFromAudit extends RebuildReport {
  /** Bytes that are no record. */
  readonly unreadable: number;
  /** Records of requests that do not say what was booked, or not in a form that is known here. */
  readonly unfit: number;
}

/** Makes the ledger from the audit again. Throws `StartupError` for a folder that is none, and `StoreUnavailable`. */
export async function rebuildFromAudit({
  stores,
  dirs,
  filter,
  dryRun,
}: RebuildFromAuditOptions): Promise<RebuiltFromAudit> {
  for (const dir of dirs) if (!existsSync(dir)) throw new StartupError(`there is no folder ${dir}`);
  let unreadable = 0;
  let unfit = 0;

  async function* bookings(): AsyncGenerator<readonly AuditBooking[], void> {
    for (const dir of dirs) {
      const onUnreadable = (_: string, bytes: number): void => void (unreadable += bytes);
      for await (const found of readRecords(dir, { ...filter, kind: 'request' }, onUnreadable)) {
        const read = found.map(({ record }) => readBooking(record.facts));
        unfit += read.filter((booking) => booking === 'unfit').length;
        yield read.filter((booking): booking is AuditBooking => booking !== null && booking !== 'unfit');
      }
    }
  }

  const report = await rebuildLedger({
    bookings: bookings(),
    quota: stores.quota,
    reader: stores.ledger,
    loss: await stores.epochs.loss(),
    leaseMs: stores.snapshot.ledger.leaseMs,
    clock: systemClock,
    dryRun,
  });
  return { ...report, unreadable, unfit };
}
