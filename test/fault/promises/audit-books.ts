import { join } from 'node:path';
import { readRecords } from '../../../src/audit/read-records.ts';
import type { AuditReport } from '../../../src/audit/verify-audit.ts';
import { waitUntil } from '../../../src/app/wait-until.ts';
import type { Shot } from '../rig/load.ts';
import type { Rig } from '../rig/rig.ts';
import { runTokenlat } from '../rig/server-child.ts';
import { atMost, exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';

/** Leases are told of by the sweep that ends them. */
const SWEEP_MS = 6000;

export interface AuditBooksOptions {
  readonly rig: Rig;
  readonly shots: readonly Shot[];
  /** Whether a process was killed that kept the log. */
  readonly crashed?: boolean;
}

/**
 * P41 and P43: every request that we answered is one record. Where the process was killed before it could be written, the
 * lease that ran out in its place is one. And the chains verify.
 */
export async function auditBooks({ rig, shots, crashed = false }: AuditBooksOptions): Promise<Verdict> {
  const ours = shots.filter(({ status, code }) => status !== 0 && code !== 'processor_unavailable');
  const expiries = (await rig.ledger()).filter(({ usageFlag, cost }) => usageFlag === 'lease expired' && cost > 0);
  const expired = new Set(expiries.map(({ operation }) => operation));
  const instead = new Set(expiries.map(({ requestId }) => requestId));
  let records = await read(rig);
  const missing = (): readonly Shot[] => ours.filter(({ id }) => !records.requests.has(id));
  const isWhole = (): boolean =>
    (crashed || missing().length === 0) && [...expired].every((operation) => records.leases.has(operation));
  await waitUntil(async () => (isWhole() ? true : ((records = await read(rig)), isWhole())), { timeoutMs: SWEEP_MS });
  const lost = missing();
  // A lease that was given back names no request: there they are only counted.
  const neither = lost.filter(({ id }) => !instead.has(id)).length;
  const ids = new Set(shots.map(({ id }) => id));
  return verdict('P41 P43 each request is one record of a log that verifies', [
    told('requests answered by us', ours.length),
    told('records of these', ours.length - lost.length),
    exactly('requests with two records', twice(records.requests), 0),
    told('other records, such as of probes', [...records.requests.keys()].filter((id) => !ids.has(id)).length),
    ...(crashed ? [told('cut or ended by a kill, with the lease on record instead', lost.length)] : []),
    expired.size > 0 || records.leases.size === 0
      ? exactly('with neither', neither, 0)
      : atMost('with neither of a name', neither, records.leases.size),
    told('leases that ran out and are on record', records.leases.size),
    exactly('with two records', twice(records.leases), 0),
    exactly('charged without a record', [...expired].filter((operation) => !records.leases.has(operation)).length, 0),
    exactly('bytes that are no record', records.unreadable, 0),
    ...(await verified(rig)),
  ]);
}

function twice(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].filter((count) => count > 1).length;
}

interface Records {
  /** Number of records by `request_id`. */
  readonly requests: ReadonlyMap<string, number>;
  /** Number of records of leases that ran out, by operation. */
  readonly leases: ReadonlyMap<string, number>;
  readonly unreadable: number;
}

async function read(rig: Rig): Promise<Records> {
  const [requests, leases] = [new Map<string, number>(), new Map<string, number>()];
  const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  let unreadable = 0;
  const onUnreadable = (_: string, bytes: number): void => void (unreadable += bytes);
  for await (const found of readRecords(join(rig.dir, 'audit-0'), {}, onUnreadable)) {
    for (const { record } of found) {
      const { request_id: id, event, operation } = record.facts;
      if (record.kind === 'request' && typeof id === 'string') count(requests, id);
      if (event === 'lease_expired' && typeof operation === 'string') count(leases, operation);
    }
  }
  return { requests, leases, unreadable };
}

/** What `tokenlat audit verify` says. */
async function verified(rig: Rig): Promise<readonly Figure[]> {
  const config = join(rig.dir, 'tokenlat-0.yaml');
  const { code, stdout, stderr } = await runTokenlat(['audit', 'verify', '-c', config, '--json'], {
    timeoutMs: 120_000,
  });
  const report = code === 0 || code === 4 ? (JSON.parse(stdout) as AuditReport) : null;
  const faults = report?.findings.filter(({ fault }) => fault) ?? [];
  return [
    told('chains', report?.chains.length ?? 0),
    told('records', report?.records ?? 0),
    exactly('audit verify ends with', code ?? -1, 0),
    ...(code === 0 ? [] : [told('it says', stderr + JSON.stringify(faults.slice(0, 3)))]),
  ];
}
