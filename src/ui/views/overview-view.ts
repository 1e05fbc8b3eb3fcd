import { currenciesOf, ofCurrency, totalOf } from '../data/spend.ts';
import type { SpendRow } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { budgetsAtRisk } from '../parts/budget-parts.ts';
import { badge, card, stat, stats } from '../parts/card.ts';
import { spendOverTime } from '../parts/spend-parts.ts';
import { count, money, shortCount } from '../text/format.ts';
import { budgetTable } from './budgets-view.ts';
import { liveTable, liveTotals } from './live-view.ts';
import { failing } from './models-view.ts';
import { shown, staleMark } from './part-view.ts';
import type { ViewModel } from './view-model.ts';

/** What matters now, in one look: what needs somebody, what is spent, what runs. */
export function overviewView(model: ViewModel): Child {
  const { facts, status, starts, room } = model;
  const rows = facts.spend.value?.rows ?? [];
  const currency = currenciesOf(rows)[0] ?? null;
  return [
    figures(model, currency === null ? [] : ofCurrency(rows, currency), currency),
    h(
      'div',
      { class: 'cards' },
      currency === null
        ? shown(facts.spend, () => h('p', { class: 'none' }, 'Nothing was spent in the last 7 days.'))
        : spendOverTime({
            id: 'week',
            rows: ofCurrency(rows, currency),
            currency,
            zone: status.zone,
            unit: 'day',
            starts,
            width: room.whole,
          }),
      card(
        { id: 'budgets', title: 'Budgets', note: staleMark(facts.budgets, status.zone), wide: true },
        shown(facts.budgets, (budgets) => budgetTable(budgets.rows.slice(0, 8), status.zone)),
      ),
      card(
        { id: 'now', title: 'Now', note: staleMark(facts.live, status.zone) ?? 'the last 60 seconds', wide: true },
        shown(facts.live, (live) => liveTable(live.data)),
      ),
    ),
  ];
}

function figures({ facts, starts }: ViewModel, rows: readonly SpendRow[], currency: string | null): UiElement {
  const today = starts.at(-1) ?? 0;
  const ofToday = totalOf(rows.filter(({ at }) => Date.parse(at) >= today));
  const live = facts.live.value === null ? null : liveTotals(facts.live.value);
  const risk = budgetsAtRisk(facts.budgets.value?.rows ?? []);
  const broken = facts.routing.value === null ? null : failing(facts.routing.value).length;
  return stats(
    stat(
      'Spent today',
      currency === null ? '\u2013' : money(ofToday.cost, currency),
      `${shortCount(ofToday.requests)} requests`,
    ),
    stat(
      'Last 7 days',
      currency === null ? '\u2013' : money(totalOf(rows).cost, currency),
      `${shortCount(totalOf(rows).requests)} requests`,
    ),
    live === null ? null : stat('Running now', count(live.running), `${shortCount(live.requests)} requests a minute`),
    facts.budgets.value === null
      ? null
      : stat(
          'Budgets',
          count(facts.budgets.value.rows.length),
          risk === 0 ? badge('good', 'on track') : badge('warn', `${risk} to look at`),
        ),
    broken === null
      ? null
      : stat(
          'Deployments',
          count((facts.routing.value?.models ?? []).flatMap(({ deployments }) => deployments).length),
          broken === 0 ? badge('good', 'none failing') : badge('bad', `${broken} failing`),
        ),
  );
}
