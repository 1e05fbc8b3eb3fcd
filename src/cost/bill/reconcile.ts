import type { LedgerEvent } from '../../core/ledger-event.ts';
import { BILL_MAPPINGS, type BillMapping, type BillMappingName } from './bill-mapping.ts';
import { microOfPico } from './decimal-money.ts';
import {
  byDay,
  type LedgerModel,
  ledgerModels,
  type LedgerSums,
  modelKey,
  NOTHING,
  type PriceOf,
} from './ledger-days.ts';
import type { DecimalMark } from './notation.ts';
import { type Bill, type BillDay, readBill } from './read-bill.ts';
import { type Billed, type Reason, reasonOf } from './reason.ts';
import { zoneShift } from './zone-shift.ts';

export interface ReconcileOptions {
  /** CSV of the provider. */
  readonly bill: string;
  /** Bookings of the provider's backends over the bill's time, at best a day more at each end. */
  readonly ledger: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>;
  readonly mapping: BillMappingName | BillMapping;
  /** The provider's names of models -> those of the ledger. What is not named is called the same. */
  readonly models?: Readonly<Record<string, string>>;
  /** Of the bill's days. Default: 0, UTC. */
  readonly utcOffsetMinutes?: number;
  /** Of a bill that does not say. Default: USD. */
  readonly currency?: string;
  /** How the bill writes fractions. Default: as its numbers show. */
  readonly decimal?: DecimalMark;
  /** Tells cached tokens that were billed like others apart from another price. */
  readonly priceOf?: PriceOf;
}

/** Tokens and micro-units; null for what the bill does not tell. */
export interface ReconcileFigures {
  readonly input: number;
  readonly cached: number | null;
  readonly output: number;
  readonly cost: number | null;
}

export interface ReconcileRow {
  /** `2026-01-31`. */
  readonly day: string;
  /** As the ledger calls it. */
  readonly model: string;
  readonly currency: string;
  readonly bill: ReconcileFigures | null;
  /** What tenants were charged. */
  readonly ledger: ReconcileFigures | null;
  /** Tries that were thrown away: in the ledger the gateway's own, and not in `ledger`. */
  readonly failedAttempts: {
    readonly events: number;
    readonly input: number;
    readonly output: number;
    readonly cost: number;
  };
  /** Bill less ledger. */
  readonly difference: ReconcileFigures;
  /** Input and output tokens of the ledger that are estimates. */
  readonly estimatedTokens: number;
  /** null when nothing differs. */
  readonly reason: Reason | null;
  /** For `timezone_shift`: whose days the bill seems to have. */
  readonly utcOffsetMinutes: number | null;
}

/**
 * A provider's bill against the ledger, by day and model, in order of day. Reversals of the ledger are taken into account.
 * Throws `BillError` for a bill that cannot be read.
 */
export async function reconcile(options: ReconcileOptions): Promise<readonly ReconcileRow[]> {
  const { mapping, models = {}, utcOffsetMinutes = 0, currency = 'USD' } = options;
  const named = typeof mapping === 'string' ? BILL_MAPPINGS[mapping] : mapping;
  const decimal = options.decimal === undefined ? {} : { decimal: options.decimal };
  const bill = readBill(options.bill, { mapping: named, utcOffsetMinutes, currency, ...decimal });
  const billed = billedModels(bill, models);
  const ledger = await ledgerModels(options.ledger, options.priceOf ?? (() => undefined));
  const rows: ReconcileRow[] = [];
  for (const name of new Set([...billed.keys(), ...ledger.keys()]))
    rows.push(...modelRows(name, billed.get(name) ?? new Map(), ledger.get(name), { bill, utcOffsetMinutes }));
  return rows.toSorted((a, b) => compare(a.day, b.day) || compare(a.model, b.model) || compare(a.currency, b.currency));
}

/** Several of the provider's names may stand for one of ours: their days are added. */
function billedModels(bill: Bill, models: Readonly<Record<string, string>>): Map<string, Map<string, BillDay>> {
  const all = new Map<string, Map<string, BillDay>>();
  for (const line of bill.days) {
    const model = Object.hasOwn(models, line.model) ? (models[line.model] ?? line.model) : line.model;
    const name = modelKey(model, line.currency);
    const days = all.get(name) ?? new Map<string, BillDay>();
    all.set(name, days);
    const before = days.get(line.day);
    days.set(line.day, before === undefined ? { ...line, model } : addedBill(before, line));
  }
  return all;
}

function addedBill(a: BillDay, b: BillDay): BillDay {
  return {
    ...a,
    input: a.input + b.input,
    cached: a.cached === null || b.cached === null ? null : a.cached + b.cached,
    output: a.output + b.output,
    pico: a.pico === null || b.pico === null ? null : a.pico + b.pico,
    lines: a.lines + b.lines,
  };
}

function modelRows(
  name: string,
  billed: ReadonlyMap<string, BillDay>,
  ledger: LedgerModel | undefined,
  { bill, utcOffsetMinutes }: { readonly bill: Bill; readonly utcOffsetMinutes: number },
): readonly ReconcileRow[] {
  const [model, currency] = JSON.parse(name) as [string, string];
  const stretches = ledger?.charged ?? new Map<number, LedgerSums>();
  const charged = byDay(stretches, utcOffsetMinutes);
  const failed = byDay(ledger?.failed ?? new Map(), utcOffsetMinutes);
  const shift = zoneShift(billed, stretches, utcOffsetMinutes);
  const days = new Set([...billed.keys(), ...charged.keys(), ...failed.keys()]);
  return [...days].map((day) => {
    const line = billed.get(day);
    const theirs = line === undefined ? null : figuresOf(line);
    const ours = charged.get(day) ?? null;
    const lost = failed.get(day) ?? NOTHING;
    const shifted = shift?.explains(day) ?? false;
    const rounding = roundingOf(line?.lines ?? 0, bill.decimals, ours?.events ?? 0);
    const reason = reasonOf({ billed: theirs, charged: ours, failed: lost, rounding, shifted });
    return {
      day,
      model,
      currency,
      bill: theirs,
      ledger: ours === null ? null : { input: ours.input, cached: ours.cached, output: ours.output, cost: ours.cost },
      failedAttempts: { events: lost.events, input: lost.input, output: lost.output, cost: lost.cost },
      difference: differenceOf(theirs, ours ?? NOTHING),
      estimatedTokens: ours?.estimated ?? 0,
      reason,
      utcOffsetMinutes: reason === 'timezone_shift' ? (shift?.utcOffsetMinutes ?? null) : null,
    };
  });
}

function figuresOf({ input, cached, output, pico }: BillDay): Billed {
  return { input, cached, output, cost: pico === null ? null : microOfPico(pico) };
}

function differenceOf(
  theirs: Billed | null,
  ours: Pick<LedgerSums, 'input' | 'cached' | 'output' | 'cost'>,
): ReconcileFigures {
  const { input, cached, output, cost } = theirs ?? { input: 0, cached: 0, output: 0, cost: 0 };
  return {
    input: input - ours.input,
    cached: cached === null ? null : cached - ours.cached,
    output: output - ours.output,
    cost: cost === null ? null : cost - ours.cost,
  };
}

/** Half of the bill's last digit for each of its lines, and one micro-unit for each of our bookings. */
function roundingOf(lines: number, decimals: number, events: number): number {
  return Math.ceil((lines * 10 ** (6 - decimals)) / 2) + events;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
