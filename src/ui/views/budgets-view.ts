import { DRAWN_BUDGETS } from '../client/needs.ts';
import { budgetSpend } from '../data/spend.ts';
import type { Budget } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { budgetBadge, budgetCard, budgetMeter, budgetName, outlook } from '../parts/budget-parts.ts';
import { dataTable, named } from '../parts/table.ts';
import { card, filled } from '../parts/card.ts';
import { money, percent } from '../text/format.ts';
import { shown } from './part-view.ts';
import type { ViewModel } from './view-model.ts';

/** Every budget, and the burn-down of the first ones. */
export function budgetsView({ facts, status, now, room }: ViewModel): Child {
  return shown(facts.budgets, ({ rows }) => [
    card({ id: 'budgets', title: 'All budgets', wide: true }, budgetTable(rows, status.zone)),
    h(
      'div',
      { class: 'cards' },
      rows
        .filter(({ state }) => state !== null && state !== undefined)
        .slice(0, DRAWN_BUDGETS)
        .map((budget) => {
          const spent = facts.ofBudget(budget.id).value?.rows ?? [];
          const id = `burn-${budget.id.replaceAll(/\W/g, '')}`;
          const own = spent.filter((row) => budgetSpend(row, budget));
          return budgetCard(budget, { id, rows: own, now, zone: status.zone, width: room.half });
        }),
    ),
  ]);
}

/** Budgets in a table: name, how much is used, where it leads. */
export function budgetTable(budgets: readonly Budget[], zone: string): UiElement {
  return dataTable({
    caption: 'Budgets',
    hideCaption: true,
    rows: budgets,
    empty: 'There is no budget. tokenlat budget set makes one.',
    columns: [
      { head: 'Budget', cell: (budget) => named(budgetName(budget)) },
      { head: 'Used', cell: usedCell },
      {
        head: 'Spent of',
        number: true,
        cell: ({ state, amount_micros, currency, period }) => {
          const of = `${money(amount_micros, currency)} a ${period}`;
          return state === null || state === undefined ? of : `${money(state.spent_micros, currency)} of ${of}`;
        },
      },
      { head: 'State', cell: ({ state }) => budgetBadge(state) },
      { head: 'Outlook', cell: (budget) => outlook(budget, zone) },
    ],
  });
}

function usedCell(budget: Budget): Child {
  const { state } = budget;
  return state === null || state === undefined ? '\u2013' : filled(budgetMeter(budget), percent(state.percent / 100));
}
