import { barList } from '../charts/bar-list.ts';
import { legend, SERIES } from '../charts/pattern.ts';
import { stackedBars } from '../charts/stacked-bars.ts';
import { capped, groupBy, stack, totalOf } from '../data/spend.ts';
import type { Group } from '../data/spend.ts';
import type { SpendRow, TopRequest } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';
import {
  count,
  dateTime,
  hourOfDay,
  longDay,
  money,
  percent,
  shortCount,
  shortDay,
  shortMoney,
} from '../text/format.ts';
import { card, figure, stat, stats } from './card.ts';
import { dataTable, named } from './table.ts';
import type { TableColumn } from './table.ts';

/** What parts about spending are given: rows of one currency and one time. */
export interface SpendPart {
  /** Of this part alone on its page. */
  readonly id: string;
  readonly rows: readonly SpendRow[];
  readonly currency: string;
  readonly zone: string;
  readonly unit: 'day' | 'hour';
  /** Starts of all days or hours of the time, Unix milliseconds. */
  readonly starts: readonly number[];
  readonly width?: number;
}

const LONGEST_LIST = 10;

/** Totals of the rows. */
export function spendTotals({ rows, currency }: Pick<SpendPart, 'rows' | 'currency'>): UiElement {
  const total = totalOf(rows);
  const own = totalOf(rows.filter(({ keys }) => keys['charged_to'] === 'gateway')).cost;
  const tokens = total.promptTokens + total.completionTokens;
  return stats(
    stat(
      `Spent, ${currency}`,
      money(total.cost, currency),
      own > 0 ? `${money(own, currency)} of it borne by the gateway` : null,
    ),
    stat(
      'Requests',
      shortCount(total.requests),
      total.requests > 0 ? `${money(total.cost / total.requests, currency)} each` : null,
    ),
    stat(
      'Tokens',
      shortCount(tokens),
      `${shortCount(total.promptTokens)} in, ${shortCount(total.completionTokens)} out`,
    ),
    stat(
      'From cache',
      total.promptTokens > 0 ? percent(total.cachedTokens / total.promptTokens) : '\u2013',
      'of the tokens in',
    ),
  );
}

/** Spending over time, stacked by model. */
export function spendOverTime({ id, rows, currency, zone, unit, starts, width }: SpendPart): UiElement {
  const { series, columns } = stack(rows, 'model', { starts, most: SERIES });
  const title = `Spending by ${unit} and model, ${currency}`;
  const label = (at: number): string => (unit === 'day' ? shortDay(at, zone) : hourOfDay(at, zone));
  const whole = (at: number): string => (unit === 'day' ? longDay(at, zone) : dateTime(at, zone));
  const sums = columns.map(({ at, values }) => ({ at, values, sum: values.reduce((all, value) => all + value, 0) }));
  const top = sums.reduce((best, each) => (each.sum > best.sum ? each : best), { at: 0, sum: 0 });
  const table = dataTable({
    caption: title,
    rows: sums,
    columns: [
      { head: unit === 'day' ? 'Day' : 'Hour', cell: ({ at }) => whole(at) },
      ...series.map((name, which): TableColumn<(typeof sums)[number]> => ({
        head: name,
        number: true,
        cell: ({ values }) => money(values[which] ?? 0, currency),
      })),
      { head: 'All', number: true, cell: ({ sum }) => money(sum, currency) },
    ],
  });
  const desc =
    top.sum > 0
      ? `${columns.length} ${unit}s. The dearest was ${whole(top.at)} with ${money(top.sum, currency)}. Models, dearest first: ${series.join(', ')}.`
      : `${columns.length} ${unit}s without spending.`;
  return card(
    { id, title: `By ${unit} and model`, wide: true },
    figure(
      { label: title, table },
      legend(`${id}-chart`, series),
      stackedBars({
        id: `${id}-chart`,
        title,
        desc,
        series,
        bars: columns.map(({ at, values }) => ({ label: label(at), values })),
        format: (value) => money(value, currency),
        axis: (value) => shortMoney(value, currency),
        ...(width === undefined ? {} : { width }),
      }),
    ),
  );
}

/** Spending by one dimension: bars, and a table with all of it. */
export function spendBy(
  { id, rows, currency, width = 480 }: Pick<SpendPart, 'id' | 'rows' | 'currency' | 'width'>,
  { dimension, title, head }: { readonly dimension: string; readonly title: string; readonly head: string },
): UiElement {
  const groups = groupBy(rows, dimension);
  const all = totalOf(rows).cost;
  const share = (cost: number): string => percent(all > 0 ? cost / all : 0);
  const label = `${title}, ${currency}`;
  const desc =
    groups[0] === undefined
      ? 'Nothing in this time.'
      : `${groups.length} in all. The dearest is ${groups[0].name} with ${money(groups[0].cost, currency)}, ${share(groups[0].cost)} of all.`;
  const table = dataTable<Group>({
    caption: label,
    rows: groups,
    columns: [
      { head, cell: ({ name }) => named(name) },
      { head: 'Requests', number: true, cell: ({ requests }) => count(requests) },
      { head: 'Tokens in', number: true, cell: ({ promptTokens }) => count(promptTokens) },
      { head: 'Tokens out', number: true, cell: ({ completionTokens }) => count(completionTokens) },
      { head: 'Cost', number: true, cell: ({ cost }) => money(cost, currency) },
      { head: 'Share', number: true, cell: ({ cost }) => share(cost) },
    ],
  });
  const bars = capped(groups, LONGEST_LIST).map(({ name, cost }) => ({ label: name, value: cost, note: share(cost) }));
  const format = (value: number): string => money(value, currency);
  return card(
    { id, title },
    figure({ label, table }, barList({ id: `${id}-chart`, title: label, desc, rows: bars, format, width })),
  );
}

/** The dearest requests of some days. */
export function topRequests({
  id,
  requests,
  zone,
  note,
}: {
  readonly id: string;
  readonly requests: readonly TopRequest[];
  readonly zone: string;
  readonly note: string;
}): UiElement {
  const columns: readonly TableColumn<TopRequest>[] = [
    { head: 'Request', cell: ({ request_id }) => h('code', {}, request_id) },
    { head: 'Cost', number: true, cell: ({ cost_micros, currency }) => money(cost_micros, currency) },
    { head: 'Tokens', number: true, cell: ({ total_tokens }) => count(total_tokens) },
    { head: 'Model', cell: ({ model }) => named(model) },
    { head: 'Tenant', cell: ({ tenant }) => named(tenant) },
    { head: 'Business line', cell: ({ business_line }) => named(business_line) },
    { head: 'Backend', cell: ({ backend }) => named(backend) },
    { head: 'When', cell: ({ at }) => dateTime(Date.parse(at), zone) },
  ];
  const title = `Top ${Math.max(requests.length, 10)} requests`;
  return card(
    { id, title, note, wide: true },
    dataTable({
      caption: `${title}, ${note}`,
      columns,
      rows: requests,
      hideCaption: true,
      empty: 'No request in this time.',
    }),
  );
}
