import type { OperationId } from '../../core/ids.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { Amounts, LimitLine, LimitState } from '../../core/limit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { AdmitResult, LedgerReader, OnExpired, QuotaStore } from '../../core/ports/quota-store.ts';
import type { LedgerSettings } from '../ledger-settings.ts';
import { reversalOf } from '../reversal.ts';
import type { SpendSource } from '../spend-source.ts';
import { assertAmounts, assertLines, assertWhole } from '../whole-number.ts';
import { createCounters } from './counters.ts';
import type { Counters, Taken } from './counters.ts';
import { createEventLog } from './event-log.ts';
import type { EventLog } from './event-log.ts';

const DAY_MS = 86_400_000;
const REFUSAL_MS = 10_000;

interface Operation {
  state: 'held' | 'denied' | 'settled' | 'expired';
  answer: AdmitResult | null;
  taken: readonly Taken[];
  onExpiry: LedgerEvent | null;
  leaseEnds: number;
  forget: number;
}

interface TenantState {
  readonly name: string;
  readonly onExpired: OnExpired;
  readonly counters: Counters;
  readonly operations: Map<string, Operation>;
  readonly events: EventLog;
}

export interface MemoryQuotaStoreOptions {
  readonly clock: Clock;
  readonly ledger: Omit<LedgerSettings, 'leaseMs'>;
  readonly onExpired?: OnExpired | undefined;
}

/** `QuotaStore` and its ledger in this process: for tests, and for running without Redis. Same answers as Redis gives. */
export function createMemoryQuotaStore({ clock, ledger, onExpired = () => {} }: MemoryQuotaStoreOptions): {
  readonly quota: QuotaStore;
  readonly ledger: LedgerReader;
  readonly spendSource: SpendSource;
} {
  const tenants = new Map<string, TenantState>();
  const tenantOf = (name: string): TenantState => {
    const state = tenants.get(name) ?? newTenant(name, ledger, onExpired);
    tenants.set(name, state);
    return state;
  };
  const quota: QuotaStore = {
    admit: async (request) => {
      assertAmounts(request.amounts);
      assertLines(request.lines);
      assertWhole(request.leaseMs, 'lease');
      return admit(tenantOf(request.tenant), request, clock.time(), ledger.keepMs);
    },
    renew: async (tenant, operation, leaseMs) => {
      assertWhole(leaseMs, 'lease');
      const record = tenants.get(tenant)?.operations.get(operation);
      if (record?.state !== 'held') return false;
      record.leaseEnds = clock.time() + leaseMs;
      record.forget = record.leaseEnds + ledger.keepMs + DAY_MS;
      return true;
    },
    settle: async ({ operation, tenant, actual, events }) => {
      assertAmounts(actual);
      return settle(tenantOf(tenant), { operation, actual, events }, clock.time(), ledger.keepMs);
    },
    sweep: async () => {
      const now = clock.time();
      let ended = 0;
      for (const tenant of tenants.values()) ended += expire(tenant, now, ledger.keepMs);
      for (const tenant of tenants.values()) prune(tenant, now);
      return ended;
    },
    peek: async (tenant, lines) => {
      assertLines(lines);
      const counters = tenants.get(tenant)?.counters ?? createCounters();
      return lines.map((line) => counters.state(line, clock.time()));
    },
  };
  return { quota, ledger: readerOf(tenants), spendSource: sourceOf(tenants, ledger.maxEvents) };
}

function newTenant(name: string, ledger: MemoryQuotaStoreOptions['ledger'], onExpired: OnExpired): TenantState {
  return { name, onExpired, counters: createCounters(), operations: new Map(), events: createEventLog(ledger) };
}

function live(tenant: TenantState, operation: string, now: number): Operation | undefined {
  const record = tenant.operations.get(operation);
  if (record === undefined || record.forget > now) return record;
  tenant.operations.delete(operation);
  return undefined;
}

function admit(
  tenant: TenantState,
  { operation, lines, amounts, leaseMs, onExpiry }: Parameters<QuotaStore['admit']>[0],
  now: number,
  keepMs: number,
): AdmitResult {
  const known = live(tenant, operation, now);
  if (known?.answer) return known.answer;
  const { counters } = tenant;
  let denied = refusal(counters, lines, amounts, now);
  // Leases that are over may hold what is missing.
  if (denied !== null && openRefuses(denied, amounts) && expire(tenant, now, keepMs) > 0) {
    denied = refusal(counters, lines, amounts, now);
  }
  if (denied === null && known?.state === 'settled') {
    return { kind: 'held', limits: lines.map((line) => counters.state(line, now)) };
  }
  if (denied !== null) {
    if (known === undefined) {
      const forget = now + Math.min(leaseMs, REFUSAL_MS);
      const record: Operation = { state: 'denied', answer: denied, taken: [], onExpiry, leaseEnds: now, forget };
      tenant.operations.set(operation, record);
    }
    return denied;
  }
  // A counter named twice is taken from once; both limits were checked.
  const unique = new Map(lines.map((line) => [counters.key(line, now), line]));
  const taken = [...unique.values()].map((line) => counters.take(line, amounts[line.unit] ?? 0, now));
  const answer: AdmitResult = { kind: 'held', limits: lines.map((line) => counters.state(line, now)) };
  const leaseEnds = now + leaseMs;
  const forget = leaseEnds + keepMs + DAY_MS;
  tenant.operations.set(operation, { state: 'held', answer, taken, onExpiry, leaseEnds, forget });
  return answer;
}

function refusal(
  counters: Counters,
  lines: readonly LimitLine[],
  amounts: Amounts,
  now: number,
): (AdmitResult & { kind: 'denied' }) | null {
  let by: LimitState | null = null;
  let retryAfterMs = 0;
  const limits = lines.map((line) => counters.state(line, now));
  for (const state of limits) {
    const amount = amounts[state.line.unit] ?? 0;
    if (amount <= state.line.limit - counters.sum(state.line, now)) continue;
    const wait = Math.max(1, counters.waitMs(state.line, amount, now));
    if (wait > retryAfterMs) [by, retryAfterMs] = [state, wait];
  }
  return by === null ? null : { kind: 'denied', by, limits, retryAfterMs };
}

function openRefuses({ limits }: AdmitResult, amounts: Amounts): boolean {
  return limits.some(
    ({ line, remaining }) => line.window.kind === 'concurrent' && (amounts[line.unit] ?? 0) > remaining,
  );
}

function settle(
  tenant: TenantState,
  request: { readonly operation: OperationId; readonly actual: Amounts; readonly events: readonly LedgerEvent[] },
  now: number,
  keepMs: number,
): 'settled' | 'repeated' | 'late' {
  const record = live(tenant, request.operation, now);
  if (record?.state === 'settled') return 'repeated';
  const expired = record?.state === 'expired';
  for (const taken of record?.taken ?? []) {
    const charged = expired && record?.onExpiry === null ? 0 : taken.amount;
    tenant.counters.replace(taken, charged, request.actual[taken.line.unit] ?? 0, now);
    if (!expired) tenant.counters.close(taken);
  }
  if (expired && record?.onExpiry) tenant.events.book(record.onExpiry, -1, now);
  for (const event of request.events) tenant.events.book(event, 1, now);
  const answer = record?.answer ?? null;
  const done: Operation = { state: 'settled', answer, taken: [], onExpiry: null, leaseEnds: now, forget: now + keepMs };
  tenant.operations.set(request.operation, done);
  return expired ? 'late' : 'settled';
}

function expire(tenant: TenantState, now: number, keepMs: number): number {
  let ended = 0;
  for (const [operation, record] of tenant.operations) {
    if (record.state !== 'held' || record.leaseEnds > now) continue;
    ended += 1;
    record.state = 'expired';
    record.forget = now + keepMs;
    for (const taken of record.taken) tenant.counters.close(taken);
    if (record.onExpiry !== null) tenant.events.book(record.onExpiry, 1, now);
    else for (const taken of record.taken) tenant.counters.replace(taken, taken.amount, 0, now);
    const rule = record.onExpiry === null ? 'release' : 'charge';
    tenant.onExpired({ tenant: tenant.name, operation: operation as OperationId, rule });
  }
  return ended;
}

function prune(tenant: TenantState, now: number): void {
  for (const operation of tenant.operations.keys()) live(tenant, operation, now);
  tenant.counters.prune(now);
  tenant.events.sums.prune(now);
}

function readerOf(tenants: ReadonlyMap<string, TenantState>): LedgerReader {
  return {
    read: async (tenant, after, count) =>
      (tenants.get(tenant)?.events.read(after, count) ?? []).map(({ id, number, event, sign }) => ({
        id,
        number,
        event: sign < 0 ? reversalOf(event) : event,
      })),
    tenants: async () => [...tenants.keys()],
    booked: async (names) => names.map((name) => tenants.get(name)?.events.booked() ?? 0),
    open: async () => {
      let open = 0;
      for (const { operations } of tenants.values()) {
        for (const { state } of operations.values()) if (state === 'held') open += 1;
      }
      return open;
    },
  };
}

function sourceOf(tenants: ReadonlyMap<string, TenantState>, maxEvents: number): SpendSource {
  return {
    tenants: async () => [...tenants.keys()],
    rows: async (tenant, unit, starts) => {
      const log = tenants.get(tenant)?.events;
      return { last: log?.last() ?? '', periods: starts.map((start) => log?.sums.rows(unit, start) ?? new Map()) };
    },
    top: async (tenant, day, count) => tenants.get(tenant)?.events.sums.top(day, count) ?? [],
    events: async (tenant, after, count) => tenants.get(tenant)?.events.read(after, count) ?? [],
    wholeFrom: async (tenant) => {
      const events = tenants.get(tenant)?.events;
      const [first] = events?.read(null, 1) ?? [];
      return events === undefined || first === undefined || events.size() < maxEvents
        ? Number.NEGATIVE_INFINITY
        : Number(first.id.split('-')[0]);
    },
  };
}
