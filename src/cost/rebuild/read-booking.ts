import type { OperationId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { type LedgerEvent, TOKEN_FIELDS } from '../../core/ledger-event.ts';
import type { Amounts, LimitLine, LimitWindow } from '../../core/limit.ts';

/** What one request booked, as its audit record says. */
export interface AuditBooking {
  readonly tenant: string;
  readonly operation: OperationId;
  readonly events: readonly LedgerEvent[];
  readonly taken: Amounts;
  /** Limits that it was taken from; each refuses nothing. */
  readonly lines: readonly LimitLine[];
}

type Facts = { readonly [key: string]: Json };

const TEXTS = [
  'operation',
  'requestId',
  'tenant',
  'subject',
  'businessLine',
  'requestType',
  'route',
  'requestedModel',
  'model',
  'backend',
  'currency',
] as const satisfies readonly (keyof LedgerEvent)[];
const ALWAYS_WHOLE = [
  'attempt',
  'promptTokens',
  'cachedTokens',
  'completionTokens',
  'reasoningTokens',
  'cost',
] as const;
const STATUSES: readonly Json[] = ['complete', 'client_aborted', 'partial', 'error'];
/** The limit of a line that only counts: no counter gets there. */
const COUNT_ONLY = Number.MAX_SAFE_INTEGER;

/** Reads the facts of a request's record: null where it booked nothing; `unfit` for what this version cannot read. */
export function readBooking(facts: Facts): AuditBooking | 'unfit' | null {
  const { booking } = facts;
  if (booking === undefined) return isOlder(facts) ? 'unfit' : null;
  if (booking === null) return null;
  if (!isObject(booking)) return 'unfit';
  const { events: rawEvents, lines: rawLines, taken } = booking;
  if (!Array.isArray(rawEvents) || !Array.isArray(rawLines) || !isAmounts(taken)) return 'unfit';
  const events = readAll(rawEvents, readEvent);
  const lines = readAll(rawLines, readLine);
  const first = events?.[0];
  if (events === null || lines === null || first === undefined) return 'unfit';
  const { tenant, operation } = first;
  if (events.some((event) => event.tenant !== tenant || event.operation !== operation)) return 'unfit';
  return { tenant, operation, events, lines, taken };
}

/** Records of versions that told the cost and not what was booked, and what is left of records that were too large. */
function isOlder({ cost, audit_too_large: cut }: Facts): boolean {
  return typeof cost === 'string' || cut !== undefined;
}

function readEvent(value: Json): LedgerEvent | null {
  if (!isObject(value)) return null;
  const { priceFrom: _, ...event } = value;
  const { chargedTo, status, estimated, usageFlag, firstTokenMs, totalMs, time } = event;
  const fits =
    TEXTS.every((name) => typeof event[name] === 'string') &&
    ALWAYS_WHOLE.every((name) => isWhole(event[name])) &&
    Object.keys(TOKEN_FIELDS).every((name) => event[name] === undefined || isWhole(event[name])) &&
    (chargedTo === 'tenant' || chargedTo === 'gateway') &&
    STATUSES.includes(status ?? null) &&
    typeof estimated === 'boolean' &&
    (usageFlag === null || typeof usageFlag === 'string') &&
    (firstTokenMs === null || typeof firstTokenMs === 'number') &&
    typeof totalMs === 'number' &&
    typeof time === 'number';
  return fits ? (event as unknown as LedgerEvent) : null;
}

function readLine(value: Json): LimitLine | null {
  if (!isObject(value)) return null;
  const { scope, unit } = value;
  const window = readWindow(value);
  if (typeof scope !== 'string' || window === null) return null;
  if (unit !== 'requests' && unit !== 'tokens' && unit !== 'spend') return null;
  return { scope, unit, window, limit: COUNT_ONLY };
}

function readWindow({ seconds, period, zone }: Facts): LimitWindow | null {
  if (isWhole(seconds) && seconds > 0) return { kind: 'sliding', seconds };
  if ((period !== 'day' && period !== 'month') || typeof zone !== 'string') return null;
  return { kind: 'calendar', unit: period, ...(zone === 'UTC' ? {} : { zone }) };
}

function isAmounts(value: Json | undefined): value is Record<'requests' | 'tokens' | 'spend', number> {
  return isObject(value) && isWhole(value['requests']) && isWhole(value['tokens']) && isWhole(value['spend']);
}

function isObject(value: Json | undefined): value is Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWhole(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Null when one of them cannot be read. */
function readAll<T>(values: readonly Json[], read: (value: Json) => T | null): readonly T[] | null {
  const all = values.map(read).filter((value): value is T => value !== null);
  return all.length === values.length ? all : null;
}
