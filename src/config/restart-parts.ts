import { isDeepStrictEqual } from 'node:util';
import type { Snapshot } from '../core/snapshot.ts';

/** What a process takes from the configuration that it started with: the path in the file, and what it holds. */
const AT_START: readonly (readonly [path: string, value: (config: Snapshot) => unknown])[] = [
  ['server', ({ server }) => server],
  ['redis', ({ redis }) => redis],
  ['audit', ({ audit }) => audit],
  ['telemetry', ({ telemetry }) => telemetry],
  ['listen.admin_port', ({ listen }) => listen.adminPort],
  ['ledger.keep', ({ ledger }) => ledger.keepMs],
  ['ledger.max_events', ({ ledger }) => ledger.maxEvents],
];

/** Of the admin API who may come in follows the file; where it listens does not. */
const ADMIN_AT_START = ['address', 'port', 'tls'] as const;

/** What of `now` only a restart puts in force, for a process that started with `started`: paths as in the file. */
export function restartParts(started: Snapshot, now: Snapshot): readonly string[] {
  const parts = AT_START.filter(([, value]) => !isDeepStrictEqual(value(started), value(now))).map(([path]) => path);
  return [...parts, ...adminParts(started.admin, now.admin)];
}

function adminParts(started: Snapshot['admin'], now: Snapshot['admin']): readonly string[] {
  if (started === null) return now === null ? [] : ['admin'];
  if (now === null) return ['admin'];
  return ADMIN_AT_START.filter((key) => !isDeepStrictEqual(started[key], now[key])).map((key) => `admin.${key}`);
}
