import type { OperationId } from '../../core/ids.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { Amounts, LimitLine, LimitState } from '../../core/limit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { AdmitResult, LedgerReader, QuotaStore } from '../../core/ports/quota-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { reversalOf } from '../reversal.ts';
import { assertAmounts, assertLines, assertWhole } from '../whole-number.ts';
import { createCounters } from './counters.ts';
import type { Counters, Taken } from './counters.ts';

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
  readonly counters: Counters;
  readonly operations: Map<string, Operation>;
  readonly events: { readonly id: string; readonly event: LedgerEvent }[];
  /** Milliseconds and count of the last id. */
  lastId: readonly [number, number];
}

export interface MemoryQuotaStoreOptions {
  readonly clock: Clock;
  readonly ledger: Pick<Snapshot['ledger'], 'maxEvents' | 'keepMs'>;
}

/** `QuotaStore` and its ledger in this process: for tests, and for running without Redis. Same answers as Redis gives. */
export function createMemoryQuotaStore({ clock, ledger }: MemoryQuotaStoreOptions): {
  readonly quota: QuotaStore;
  readonly ledger: LedgerReader;
} {
  const tenants = new Map<string, TenantState>();
  const tenantOf = (name: string): TenantState => {
    const state = tenants.get(name) ?? newTenant();
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
      return settle(tenantOf(tenant), { operation, actual, events }, clock.time(), ledger);
    },
    sweep: async () => {
      const now = clock.time();
      let ended = 0;
      for (const tenant of tenants.values()) ended += expire(tenant, now, ledger);
      for (const tenant of tenants.values()) prune(tenant, now);
      return ended;
    },
    peek: async (tenant, lines) => {
      assertLines(lines);
      const counters = tenants.get(tenant)?.counters ?? createCounters();
      return lines.map((line) => counters.state(line, clock.time()));
    },
  };
  return { quota, ledger: readerOf(tenants) };
}

function newTenant(): TenantState {
  return { counters: createCounters(), operations: new Map(), events: [], lastId: [0, -1] };
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
  const denied = refusal(counters, lines, amounts, now);
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
  const taken = [...unique.values()].map((line) => counters.take(line, amounts[line.unit], now));
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
    const amount = amounts[state.line.unit];
    if (amount <= state.line.limit - counters.sum(state.line, now)) continue;
    const wait = Math.max(1, counters.waitMs(state.line, amount, now));
    if (wait > retryAfterMs) [by, retryAfterMs] = [state, wait];
  }
  return by === null ? null : { kind: 'denied', by, limits, retryAfterMs };
}

function settle(
  tenant: TenantState,
  request: { readonly operation: OperationId; readonly actual: Amounts; readonly events: readonly LedgerEvent[] },
  now: number,
  { maxEvents, keepMs }: MemoryQuotaStoreOptions['ledger'],
): 'settled' | 'repeated' | 'late' {
  const record = live(tenant, request.operation, now);
  if (record?.state === 'settled') return 'repeated';
  const expired = record?.state === 'expired';
  for (const taken of record?.taken ?? []) {
    const charged = expired && record?.onExpiry === null ? 0 : taken.amount;
    tenant.counters.replace(taken, charged, request.actual[taken.line.unit], now);
  }
  if (expired && record?.onExpiry) book(tenant, reversalOf(record.onExpiry), now, maxEvents);
  for (const event of request.events) book(tenant, event, now, maxEvents);
  const answer = record?.answer ?? null;
  const done: Operation = { state: 'settled', answer, taken: [], onExpiry: null, leaseEnds: now, forget: now + keepMs };
  tenant.operations.set(request.operation, done);
  return expired ? 'late' : 'settled';
}

function expire(tenant: TenantState, now: number, { maxEvents, keepMs }: MemoryQuotaStoreOptions['ledger']): number {
  let ended = 0;
  for (const record of tenant.operations.values()) {
    if (record.state !== 'held' || record.leaseEnds > now) continue;
    ended += 1;
    record.state = 'expired';
    record.forget = now + keepMs;
    if (record.onExpiry !== null) book(tenant, record.onExpiry, now, maxEvents);
    else for (const taken of record.taken) tenant.counters.replace(taken, taken.amount, 0, now);
  }
  return ended;
}

function prune(tenant: TenantState, now: number): void {
  for (const operation of tenant.operations.keys()) live(tenant, operation, now);
  tenant.counters.prune(now);
}

function book(tenant: TenantState, event: LedgerEvent, now: number, maxEvents: number): void {
  const [ms, count] = tenant.lastId;
  tenant.lastId = now > ms ? [now, 0] : [ms, count + 1];
  tenant.events.push({ id: tenant.lastId.join('-'), event });
  // Trimmed in lumps: one by one would move the whole array each time.
  if (tenant.events.length > maxEvents + 100) tenant.events.splice(0, tenant.events.length - maxEvents);
}

function readerOf(tenants: ReadonlyMap<string, TenantState>): LedgerReader {
  return {
    read: async (tenant, after, count) => {
      const events = tenants.get(tenant)?.events ?? [];
      const from = after === null ? 0 : events.findIndex(({ id }) => isAfter(id, after));
      return from === -1 ? [] : events.slice(from, from + Math.max(0, count));
    },
    tenants: async () => [...tenants.keys()],
    open: async () => {
      let open = 0;
      for (const { operations } of tenants.values()) {
        for (const { state } of operations.values()) if (state === 'held') open += 1;
      }
      return open;
    },
  };
}

function isAfter(id: string, other: string): boolean {
  const [ms = 0, count = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherCount = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && count > otherCount);
}
