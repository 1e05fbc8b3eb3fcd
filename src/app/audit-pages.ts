import type { AuditReader } from '../admin/admin-deps.ts';
import { readRecords } from '../audit/read-records.ts';
import type { FoundRecord } from '../audit/read-records.ts';
import type { AuditLog } from '../core/ports/audit.ts';
import type { Audit } from '../core/audit-settings.ts';

/** How long a reader waits for what was just said to be on disk. */
const FLUSH_MS = 500;

interface Row {
  readonly id: string;
  readonly found: FoundRecord;
}

/** Pages of the audit of this host, newest first; nothing where none is kept. Looks through all records of the time asked for. */
export function auditPages(audit: Audit | null, log: Pick<AuditLog, 'flush'>): AuditReader {
  return {
    async read({ tenant, kind, from, to, after, count }) {
      if (audit === null) return [];
      await log.flush(FLUSH_MS);
      const filter = {
        ...(tenant === null ? {} : { tenant }),
        ...(kind === null ? {} : { kind }),
        ...(from === null ? {} : { from }),
        ...(to === null ? {} : { to }),
      };
      let page: Row[] = [];
      for await (const records of readRecords(audit.dir, filter, () => {})) {
        for (const found of records) {
          const id = idOf(found);
          if (after === null || id < after) page.push({ id, found });
        }
        if (page.length > 4 * count) page = newest(page, count);
      }
      return newest(page, count).map(({ id, found: { record } }) => ({
        id,
        entry: { kind: record.kind, time: record.time, facts: record.facts },
      }));
    },
  };
}

/** Orders records by time; those of one moment by where they stand. */
function idOf({ record: { time, chain, seq } }: FoundRecord): string {
  return `${String(time).padStart(15, '0')} ${chain} ${String(seq).padStart(15, '0')}`;
}

function newest(rows: readonly Row[], count: number): Row[] {
  return rows.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, count);
}
