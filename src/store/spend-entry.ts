import type { LedgerEvent } from '../core/ledger-event.ts';
import { periodAt } from '../lib/calendar/calendar-period.ts';

/** What is added up. Whole numbers; negative where an event is taken back. */
export type Sums = readonly [requests: number, prompt: number, cached: number, completion: number, cost: number];

/** What one event adds to the sums of its hour and day. */
export interface SpendEntry {
  /** Unix seconds of the starts, of the UTC hour and of the day in the ledger's zone. */
  readonly hour: number;
  readonly day: number;
  readonly sums: Sums;
  /** The row's name: JSON of model, backend, business line and request type, then of payer and currency; without brackets. */
  readonly head: string;
  readonly tail: string;
  /** Its member among the dearest requests of the day; empty for what is not charged to the tenant. */
  readonly top: string;
}

/** Rows of one hour or day that are kept apart; further ones are added up as `*`. The same number stands in `rollup.lua`. */
export const MAX_ROWS = 5000;
/** Dearest requests kept of a day; likewise. */
export const MAX_TOP = 200;
export const HOURS_KEPT_MS = 40 * 86_400_000;
export const DAYS_KEPT_MS = 400 * 86_400_000;

const HOUR_MS = 3_600_000;
/** UTF-16 units of a name in a report. */
const MAX_NAME = 128;

/**
 * The time of an event (by the gateway's clock) decides its hour and day, so that what takes it back finds the same row. Only
 * events of the tenant count as requests: a try that was thrown away is part of one.
 */
export function spendEntryOf(event: LedgerEvent, zone?: string): SpendEntry {
  const { promptTokens, cachedTokens, completionTokens, cost } = event;
  const own = event.chargedTo === 'tenant';
  const time = Math.trunc(event.time);
  const names = [event.model, event.backend, event.businessLine, event.requestType].map(clip);
  return {
    hour: (Math.floor(time / HOUR_MS) * HOUR_MS) / 1000,
    day: periodAt(time, 'day', zone).start / 1000,
    sums: [own ? 1 : 0, promptTokens, cachedTokens, completionTokens, cost],
    head: bare(names),
    tail: bare([event.chargedTo, clip(event.currency)]),
    top: own ? memberOf(event, time) : '',
  };
}

/** As `rollup.lua` takes it. */
export function entryFields({ hour, day, sums, head, tail, top }: SpendEntry): readonly (string | number)[] {
  return [hour, day, ...sums, head, tail, top];
}

/** As `rollup.lua` reads it in the record of an operation. */
export function serializeEntry(entry: SpendEntry): string {
  return entryFields(entry).join('\t');
}

function memberOf(event: LedgerEvent, time: number): string {
  return JSON.stringify([
    event.requestId,
    event.model,
    event.backend,
    event.businessLine,
    time,
    event.promptTokens + event.completionTokens,
    event.currency,
    event.operation,
  ]);
}

/** JSON escapes tabs and line ends, so that none is left. */
function bare(values: readonly string[]): string {
  return JSON.stringify(values).slice(1, -1);
}

function clip(text: string): string {
  return text.length > MAX_NAME ? text.slice(0, MAX_NAME) : text;
}
