import { join } from 'node:path';
import { readRecords } from '../../../src/audit/read-records.ts';
import type { AuditReport } from '../../../src/audit/verify-audit.ts';
import { waitUntil } from '../../../src/app/wait-until.ts';
import type { Shot } from '../rig/load.ts';
import type { Rig } from '../rig/rig.ts';
import { runTokenlat } from '../rig/server-child.ts';
import { exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';

/** What a killed process had taken and not yet on disk is this old at most: it gathers for 5 ms, writes and syncs. */
const TAIL_MS = 500;
/** Leases are told of by the sweep that ends them. */
const SWEEP_MS = 6000;

export interface AuditBooksOptions {
  readonly rig: Rig;
  readonly shots: readonly Shot[];
  /** When a process was killed that kept the log, `performance.now()`. What it did last may not be on record. */
  readonly kills?: readonly number[];
}

/** P41 and P43: each request has one record, each lease that ran out has one, and the chains verify. */
export async function auditBooks({ rig, shots, kills = [] }: AuditBooksOptions): Promise<Verdict> {
  const ours = shots.filter(({ status, code }) => status !== 0 && code !== 'processor_unavailable');
  const isTail = ({ startedAt, ms }: Shot): boolean =>
    kills.some((at) => at >= startedAt && at <= startedAt + ms + TAIL_MS);
  const expired = new Set(
    (await rig.ledger()).filter(({ usageFlag }) => usageFlag === 'lease expired').map(({ operation }) => operation),
  );
  let records = await read(rig);
  const missing = (): readonly Shot[] => ours.filter(({ id }) => !records.requests.has(id));
  const isWhole = (): boolean =>
    missing().every(isTail) && [...expired].every((operation) => records.leases.has(operation));
  await waitUntil(async () => (isWhole() ? true : ((records = await read(rig)), isWhole())), { timeoutMs: SWEEP_MS });
  const lost = missing();
  const many = (counts: ReadonlyMap<string, number>): number =>
    [...counts.values()].filter((count) => count > 1).length;
  const unfounded = [...records.requests.keys()].filter((id) => !shots.some((shot) => shot.id === id));
  return verdict('P41 P43 each request is one record of a log that verifies', [
    told('requests answered by us', ours.length),
    told('records of the load’s requests', shots.filter(({ id }) => records.requests.has(id)).length),
    exactly('requests with two records', many(records.requests), 0),
    exactly('without a record', lost.filter((shot) => !isTail(shot)).length, 0),
    ...(kills.length === 0
      ? []
      : [
          told('cut by a kill, without one', lost.filter((shot) => isTail(shot) && !shot.complete).length),
          told(
            'complete half a second before a kill, without one',
            lost.filter((shot) => isTail(shot) && shot.complete).length,
          ),
        ]),
    told('other requests, such as probes', unfounded.length),
    told('leases that ran out and are on record', records.leases.size),
    exactly('with two records', many(records.leases), 0),
    exactly('charged without a record', [...expired].filter((operation) => !records.leases.has(operation)).length, 0),
    exactly('bytes that are no record', records.unreadable, 0),
    ...(await verified(rig)),
  ]);
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
