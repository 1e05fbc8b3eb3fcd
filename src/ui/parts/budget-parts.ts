import { burnDown } from '../charts/burn-down.ts';
import { levelOf, meter } from '../charts/meter.ts';
import { running } from '../data/spend.ts';
import type { Budget, BudgetState, SpendRow } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';
import { dateTime, money, percent, shortDay, hourOfDay, shortMoney } from '../text/format.ts';
import { badge, card, figure, stat, stats } from './card.ts';
import { dataTable } from './table.ts';

const HOUR = 3_600_000;

/** `acme`, or `acme / ads` for one of its lines. */
export const budgetName = ({ tenant, business_line }: Budget): string =>
  business_line === null ? tenant : `${tenant} / ${business_line}`;

/** In one word, and a colour with a shape. */
export function budgetBadge(state: BudgetState | null | undefined): UiElement {
  if (state === null || state === undefined) return badge('idle', 'not measured');
  if (state.protected) return badge('bad', 'protection on');
  if (state.percent >= 100) return badge('bad', 'used up');
  if (state.exhausted_at !== null) return badge('warn', 'runs out early');
  return badge('good', 'on track');
}

/** Where the pace leads, in words. */
export function outlook({ amount_micros, currency, state }: Budget, zone: string): string {
  if (state === null || state === undefined) return 'It cannot be measured: its currency is not that of the prices.';
  const { exhausted_at, forecast_micros, percent: used } = state;
  if (used >= 100) return `${money(forecast_micros, currency)} by the end at this pace.`;
  if (exhausted_at !== null) return `Used up ${dateTime(Date.parse(exhausted_at), zone)} at this pace.`;
  return `${money(forecast_micros, currency)} by the end, ${percent(forecast_micros / Math.max(1, amount_micros))}.`;
}

/** The same in a few words. */
function ending({ amount_micros, period, state }: Budget, zone: string): string {
  const at = state?.exhausted_at ?? null;
  if (at === null || (state?.percent ?? 0) >= 100)
    return `${percent((state?.forecast_micros ?? 0) / Math.max(1, amount_micros))} of the budget`;
  return `used up ${period === 'day' ? hourOfDay(Date.parse(at), zone) : shortDay(Date.parse(at), zone)}`;
}

/** How much of it is used and where it leads, as a bar; null where it cannot be measured. */
export function budgetMeter(budget: Budget): UiElement | null {
  const { state, amount_micros, alerts_at } = budget;
  if (state === null || state === undefined) return null;
  return meter({
    label: `${budgetName(budget)}: ${percent(state.percent / 100)} used`,
    share: state.percent / 100,
    forecast: state.forecast_micros / Math.max(1, amount_micros),
    marks: alerts_at.map((at) => at / 100),
  });
}

/** One budget: figures, burn-down and forecast. `rows`: what its tenant or line spent in the running period, by day or hour. */
export function budgetCard(
  budget: Budget,
  {
    id,
    rows,
    now,
    zone,
    width,
  }: {
    readonly id: string;
    readonly rows: readonly SpendRow[];
    readonly now: number;
    readonly zone: string;
    readonly width?: number;
  },
): UiElement {
  const { state, currency, amount_micros, period } = budget;
  const title = budgetName(budget);
  const note = [`${money(amount_micros, currency)} a ${period} `, budgetBadge(state)];
  if (state === null || state === undefined)
    return card({ id, title, note }, h('p', { class: 'none' }, outlook(budget, zone)));
  const [from, to] = [Date.parse(state.from), Date.parse(state.to)];
  const step = period === 'day' ? HOUR : 24 * HOUR;
  const points = running(rows, { from, step });
  const left = Math.max(0, amount_micros - state.spent_micros);
  const time = (at: number): string => (period === 'day' ? hourOfDay(at, zone) : shortDay(at, zone));
  const table = dataTable({
    caption: `What is left of the budget of ${title}`,
    rows: points,
    columns: [
      { head: 'By', cell: ({ at }) => dateTime(at, zone) },
      { head: 'Spent', number: true, cell: ({ spent }) => money(spent, currency) },
      { head: 'Left', number: true, cell: ({ spent }) => money(Math.max(0, amount_micros - spent), currency) },
    ],
  });
  const drawing = burnDown({
    id: `${id}-chart`,
    title: `Budget of ${title}: what is left`,
    desc: `${money(state.spent_micros, currency)} of ${money(amount_micros, currency)} are spent. ${outlook(budget, zone)}`,
    from,
    to,
    now,
    amount: amount_micros,
    spent: state.spent_micros,
    forecast: state.forecast_micros,
    exhaustedAt: state.exhausted_at === null ? null : Date.parse(state.exhausted_at),
    points,
    alerts: budget.alerts_at,
    axis: (value) => shortMoney(value, currency),
    time,
    width: width ?? 560,
  });
  return card(
    { id, title, note },
    stats(
      stat('Spent', money(state.spent_micros, currency), `${percent(state.percent / 100)} of the budget`),
      stat('Left', money(left, currency)),
      stat('Forecast', money(state.forecast_micros, currency), ending(budget, zone)),
    ),
    figure({ label: `Burn-down of ${title}`, table }, drawing),
  );
}

/** How many need a look. */
export function budgetsAtRisk(budgets: readonly Budget[]): number {
  return budgets.filter(
    ({ state }) =>
      state?.protected === true ||
      levelOf((state?.percent ?? 0) / 100) !== 'fine' ||
      (state?.exhausted_at ?? null) !== null,
  ).length;
}
