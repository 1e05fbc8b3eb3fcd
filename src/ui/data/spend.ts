import type { Budget, SpendRow, TopRequest } from './wire.ts';

export interface Figures {
  readonly requests: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Micro-units. */
  readonly cost: number;
}

export interface Group extends Figures {
  readonly name: string;
}

export interface Column {
  readonly at: number;
  /** Micro-units, in the order of the series. */
  readonly values: readonly number[];
}

const NOTHING: Figures = { requests: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, cost: 0 };

function plus(sum: Figures, row: SpendRow): Figures {
  return {
    requests: sum.requests + row.requests,
    promptTokens: sum.promptTokens + row.prompt_tokens,
    cachedTokens: sum.cachedTokens + row.cached_tokens,
    completionTokens: sum.completionTokens + row.completion_tokens,
    cost: sum.cost + row.cost_micros,
  };
}

/** Sums of all rows. They must be of one currency. */
export function totalOf(rows: readonly SpendRow[]): Figures {
  return rows.reduce(plus, NOTHING);
}

/** Currencies of the rows, the one with most requests first: money of different ones is never added up. */
export function currenciesOf(rows: readonly SpendRow[]): readonly string[] {
  const requests = new Map<string, number>();
  for (const { currency, requests: more } of rows) requests.set(currency, (requests.get(currency) ?? 0) + more);
  return [...requests].toSorted(([a, m], [b, n]) => n - m || compare(a, b)).map(([currency]) => currency);
}

export function ofCurrency<T extends { readonly currency: string }>(
  rows: readonly T[],
  currency: string,
): readonly T[] {
  return rows.filter((row) => row.currency === currency);
}

/** Sums by a dimension, dearest first. Rows without it are `none`. */
export function groupBy(rows: readonly SpendRow[], dimension: string): readonly Group[] {
  const groups = new Map<string, Figures>();
  for (const row of rows) {
    const name = row.keys[dimension] || 'none';
    groups.set(name, plus(groups.get(name) ?? NOTHING, row));
  }
  return [...groups].map(([name, figures]) => ({ name, ...figures })).toSorted(dearestFirst);
}

/** The first `most` groups, and what is left together as `N others`. */
export function capped(groups: readonly Group[], most: number): readonly Group[] {
  if (groups.length <= most) return groups;
  const rest = groups.slice(most - 1);
  const sum = (pick: (group: Group) => number): number => rest.reduce((all, group) => all + pick(group), 0);
  const others: Group = {
    name: `${rest.length} others`,
    requests: sum(({ requests }) => requests),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    cost: sum(({ cost }) => cost),
  };
  return [...groups.slice(0, most - 1), others];
}

/** Cost over time, one value a group; times without rows have zeros. Groups past `most` go together in the last series. */
export function stack(
  rows: readonly SpendRow[],
  dimension: string,
  { starts, most }: { readonly starts: readonly number[]; readonly most: number },
): { readonly series: readonly string[]; readonly columns: readonly Column[] } {
  const groups = groupBy(rows, dimension);
  const named = groups.length <= most ? groups : groups.slice(0, most - 1);
  const place = new Map(named.map(({ name }, at) => [name, at]));
  const series = capped(groups, most).map(({ name }) => name);
  const columns = new Map(starts.map((at) => [at, series.map(() => 0)]));
  for (const row of rows) {
    const time = Date.parse(row.at);
    // Clocks that change can make a day begin elsewhere than it was reckoned: it belongs to the last start before it.
    const at = columns.has(time) ? time : (starts.findLast((start) => start <= time) ?? time);
    const values = columns.get(at) ?? series.map(() => 0);
    const which = place.get(row.keys[dimension] || 'none') ?? series.length - 1;
    values[which] = (values[which] ?? 0) + row.cost_micros;
    columns.set(at, values);
  }
  const sorted = [...columns].toSorted(([a], [b]) => a - b).map(([at, values]) => ({ at, values }));
  return { series, columns: sorted };
}

/** What was spent by the end of each row's time: for a burn-down. `step`: how long a row's time is, milliseconds. */
export function running(
  rows: readonly SpendRow[],
  { from, step }: { readonly from: number; readonly step: number },
): readonly { readonly at: number; readonly spent: number }[] {
  const by = new Map<number, number>();
  for (const row of rows) by.set(Date.parse(row.at), (by.get(Date.parse(row.at)) ?? 0) + row.cost_micros);
  let spent = 0;
  const points = [...by]
    .toSorted(([a], [b]) => a - b)
    .map(([at, cost]) => {
      spent += cost;
      return { at: at + step, spent };
    });
  return [{ at: from, spent: 0 }, ...points];
}

/** Does a row count for a budget? What the gateway bears itself counts for none. */
export function budgetSpend({ keys, currency }: SpendRow, budget: Pick<Budget, 'business_line' | 'currency'>): boolean {
  if (keys['charged_to'] !== 'tenant' || currency !== budget.currency) return false;
  return budget.business_line === null || keys['business_line'] === budget.business_line;
}

/** The dearest of several days together. */
export function dearest(requests: readonly TopRequest[], most: number): readonly TopRequest[] {
  return requests
    .toSorted((a, b) => b.cost_micros - a.cost_micros || compare(a.request_id, b.request_id))
    .slice(0, most);
}

const dearestFirst = (a: Group, b: Group): number =>
  b.cost - a.cost || b.requests - a.requests || compare(a.name, b.name);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
