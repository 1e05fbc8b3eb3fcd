import { TOKEN_FIELDS, type LedgerEvent, type TokenField } from '../../core/ledger-event.ts';
import { costOf, type Price } from '../../core/money.ts';
import type { Usage } from '../../core/usage.ts';

/** Sums over bookings. Cost in micro-units. */
export interface LedgerSums {
  input: number;
  cached: number;
  output: number;
  cost: number;
  events: number;
  /** Of input and output, what is our estimate. */
  estimated: number;
  /** What it would cost if cached tokens were priced like others; null when a price is not known. */
  uncachedCost: number | null;
}

/** A model's ledger in stretches so short that they make up the days of any zone. */
export interface LedgerModel {
  readonly model: string;
  readonly currency: string;
  /** By the start of the half hour, Unix milliseconds. */
  readonly charged: Map<number, LedgerSums>;
  /** Tries that were thrown away, which the gateway itself bears. */
  readonly failed: Map<number, LedgerSums>;
}

/** The price of a model at a time (Unix milliseconds), where it is known. */
export type PriceOf = (event: LedgerEvent) => Price | undefined;

const STRETCH_MS = 1_800_000;
const DATE_LENGTH = '2026-01-31'.length;

export const NOTHING: Readonly<LedgerSums> = {
  input: 0,
  cached: 0,
  output: 0,
  cost: 0,
  events: 0,
  estimated: 0,
  uncachedCost: 0,
};

/** Sorts bookings of models into stretches; one that reached no model is left out. */
export async function ledgerModels(
  events: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>,
  priceOf: PriceOf,
): Promise<Map<string, LedgerModel>> {
  const models = new Map<string, LedgerModel>();
  for await (const event of events) {
    if (event.model === '') continue;
    const name = modelKey(event.model, event.currency);
    const { model, currency } = event;
    const entry = models.get(name) ?? { model, currency, charged: new Map(), failed: new Map() };
    models.set(name, entry);
    const stretches = event.chargedTo === 'gateway' ? entry.failed : entry.charged;
    const start = Math.floor(event.time / STRETCH_MS) * STRETCH_MS;
    stretches.set(start, added(stretches.get(start) ?? NOTHING, sumsOf(event, priceOf)));
  }
  return models;
}

export function modelKey(model: string, currency: string): string {
  return JSON.stringify([model, currency]);
}

/** The stretches by the days (`2026-01-31`) of a zone. */
export function byDay(stretches: ReadonlyMap<number, LedgerSums>, utcOffsetMinutes: number): Map<string, LedgerSums> {
  const days = new Map<string, LedgerSums>();
  for (const [start, sums] of stretches) {
    const day = new Date(start + utcOffsetMinutes * 60_000).toISOString().slice(0, DATE_LENGTH);
    days.set(day, added(days.get(day) ?? NOTHING, sums));
  }
  return days;
}

export function added(a: LedgerSums, b: LedgerSums): LedgerSums {
  return {
    input: a.input + b.input,
    cached: a.cached + b.cached,
    output: a.output + b.output,
    cost: a.cost + b.cost,
    events: a.events + b.events,
    estimated: a.estimated + b.estimated,
    uncachedCost: a.uncachedCost === null || b.uncachedCost === null ? null : a.uncachedCost + b.uncachedCost,
  };
}

function sumsOf(event: LedgerEvent, priceOf: PriceOf): LedgerSums {
  const price = event.cachedTokens === 0 ? undefined : priceOf(event);
  // A reversal takes back what was booked, so it is priced as that was and then turned round.
  const sign = event.promptTokens < 0 || event.completionTokens < 0 || event.cost < 0 ? -1 : 1;
  const uncached =
    price === undefined ? null : sign * costOf({ ...usageOf(event, sign), cached: 0 }, price, event.time);
  return {
    input: event.promptTokens,
    cached: event.cachedTokens,
    output: event.completionTokens,
    cost: event.cost,
    events: 1,
    estimated: event.estimated ? event.promptTokens + event.completionTokens : 0,
    uncachedCost: event.cachedTokens === 0 ? event.cost : uncached,
  };
}

function usageOf(event: LedgerEvent, sign: 1 | -1): Usage {
  const usage: Partial<Record<keyof Usage, number>> = {};
  for (const [field, part] of Object.entries(TOKEN_FIELDS) as [TokenField, keyof Usage][]) {
    const count = event[field];
    if (count !== undefined) usage[part] = Math.abs(count * sign);
  }
  return { prompt: 0, cached: 0, completion: 0, reasoning: 0, ...usage, source: 'upstream' };
}
