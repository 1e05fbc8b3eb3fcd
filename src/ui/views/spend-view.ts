import { currenciesOf, dearest, ofCurrency } from '../data/spend.ts';
import type { SpendRow } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child } from '../markup/node.ts';
import { spendBy, spendOverTime, spendTotals, topRequests } from '../parts/spend-parts.ts';
import { shown } from './part-view.ts';
import type { ViewModel } from './view-model.ts';

/** What was spent, for what and by whom. */
export function spendView(model: ViewModel): Child {
  const { facts, status } = model;
  return [
    shown(facts.spend, ({ rows, whole }) => [
      whole ? null : h('p', { class: 'hint' }, 'These are too many rows for this page: choose a tenant or fewer days.'),
      currenciesOf(rows).length === 0
        ? h('p', { class: 'none' }, 'Nothing was spent in this time.')
        : currenciesOf(rows).map((currency, at) => ofOne(model, ofCurrency(rows, currency), { currency, at })),
    ]),
    shown(facts.top, ({ data }) =>
      topRequests({ id: 'top', requests: dearest(data, 10), zone: status.zone, note: 'of today' }),
    ),
  ];
}

function ofOne(
  { choice, status, starts, room }: ViewModel,
  rows: readonly SpendRow[],
  { currency, at }: { readonly currency: string; readonly at: number },
): Child {
  const part = (name: string) => ({ id: `${name}-${at}`, rows, currency, width: room.half });
  const oneTenant = choice.tenant !== null || status.tenant !== null;
  return [
    spendTotals({ rows, currency }),
    h(
      'div',
      { class: 'cards' },
      spendOverTime({ ...part('time'), zone: status.zone, unit: 'day', starts, width: room.whole }),
      spendBy(part('model'), { dimension: 'model', title: 'By model', head: 'Model' }),
      spendBy(part('line'), { dimension: 'business_line', title: 'By business line', head: 'Business line' }),
      spendBy(part('type'), { dimension: 'request_type', title: 'By request type', head: 'Request type' }),
      oneTenant ? null : spendBy(part('tenant'), { dimension: 'tenant', title: 'By tenant', head: 'Tenant' }),
    ),
  ];
}
