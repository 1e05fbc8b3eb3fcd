import type { MicroUnits } from '../core/money.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { SpendDimension, SpendQuery, SpendReader, SpendRow, TopRequest } from '../core/ports/spend-reader.ts';
import { periodAt, periodsBetween } from '../lib/calendar/calendar-period.ts';
import { MAX_TOP } from './spend-entry.ts';
import type { Sums } from './spend-entry.ts';
import { addSums, dimensionsOf, isNothing, spendRow } from './spend-rows.ts';
import type { SpendSource } from './spend-source.ts';
import { verifySpend } from './verify-spend.ts';

const HOUR_MS = 3_600_000;
/** Hours or days of one question; days are kept for 400, hours for 40 days. */
const MAX_PERIODS = 10_000;
const AT_ONCE = 100;

interface Group {
  readonly at: number;
  readonly keys: SpendRow['keys'];
  readonly currency: string;
  sums: Sums;
}

/** `SpendReader` over any store's sums. `spend` and `top` throw `RangeError` for what is too much or no number. */
export function createSpendReader({
  source,
  clock,
  zone,
}: {
  readonly source: SpendSource;
  readonly clock: Clock;
  readonly zone?: string | undefined;
}): SpendReader {
  const tenantsOf = async (tenant: string | null): Promise<readonly string[]> =>
    tenant === null ? source.tenants() : [tenant];

  return {
    spend: async (query) => {
      const starts = startsOf(query, zone);
      const groups = new Map<string, Group>();
      for (const tenant of await tenantsOf(query.tenant)) {
        for (let from = 0; from < starts.length; from += AT_ONCE) {
          const part = starts.slice(from, from + AT_ONCE);
          const { periods } = await source.rows(tenant, query.unit, part);
          for (const [i, at] of part.entries()) {
            for (const [name, sums] of periods[i] ?? []) addTo(groups, { at, tenant, name, sums, by: query.by });
          }
        }
      }
      return [...groups]
        .filter(([, { sums }]) => !isNothing(sums))
        .toSorted(([a, { at }], [b, other]) => at - other.at || (a < b ? -1 : 1))
        .map(([, { at, keys, currency, sums }]) => spendRow(at, keys, currency, sums));
    },
    top: async ({ tenant, day, count }) => {
      if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`count is no whole number: ${count}`);
      const most = Math.min(count, MAX_TOP);
      const { start } = periodAt(day, 'day', zone);
      const all: TopRequest[] = [];
      if (most === 0) return all;
      for (const name of await tenantsOf(tenant)) {
        for (const { member, cost } of await source.top(name, start, most)) all.push(topRequest(name, member, cost));
      }
      return all
        .toSorted((a, b) => b.cost - a.cost || a.time - b.time || (a.requestId < b.requestId ? -1 : 1))
        .slice(0, most);
    },
    verify: (tenant) => verifySpend({ source, clock, zone, tenant }),
  };
}

function startsOf({ from, to, unit }: SpendQuery, zone: string | undefined): readonly number[] {
  if (!Number.isFinite(from) || !Number.isFinite(to)) throw new RangeError('from and to must be times');
  if ((to - from) / (unit === 'hour' ? HOUR_MS : 23 * HOUR_MS) > MAX_PERIODS) {
    throw new RangeError(`more than ${MAX_PERIODS} ${unit}s`);
  }
  if (unit === 'day') return periodsBetween(from, to, 'day', zone).map(({ start }) => start);
  const first = Math.floor(from / HOUR_MS);
  const hours = Math.max(0, Math.ceil(to / HOUR_MS) - first);
  return Array.from({ length: hours }, (_, i) => (first + i) * HOUR_MS);
}

function addTo(
  groups: Map<string, Group>,
  row: {
    readonly at: number;
    readonly tenant: string;
    readonly name: string;
    readonly sums: Sums;
    readonly by: readonly SpendDimension[];
  },
): void {
  const { keys, currency } = dimensionsOf(row.name, row.tenant);
  const named = Object.fromEntries(row.by.map((dimension) => [dimension, keys[dimension]]));
  const id = JSON.stringify([row.at, row.by.map((dimension) => keys[dimension]), currency]);
  const group = groups.get(id);
  if (group === undefined) groups.set(id, { at: row.at, keys: named, currency, sums: row.sums });
  else group.sums = addSums(group.sums, row.sums);
}

function topRequest(tenant: string, member: string, cost: number): TopRequest {
  const [requestId, model, backend, businessLine, time, totalTokens, currency] = JSON.parse(member) as [
    string,
    string,
    string,
    string,
    number,
    number,
    string,
  ];
  return { requestId, tenant, model, backend, businessLine, time, totalTokens, cost: cost as MicroUnits, currency };
}
