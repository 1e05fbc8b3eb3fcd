import type { Key } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { badge, card, stat, stats } from '../parts/card.ts';
import { dataTable, named } from '../parts/table.ts';
import { count, longDay, span } from '../text/format.ts';
import { shown, staleMark } from './part-view.ts';
import type { ViewModel } from './view-model.ts';

const SOON_MS = 14 * 86_400_000;

/** Keys without their secrets, which nobody has but their owners. */
export function keysView({ facts, status, now }: ViewModel): Child {
  return shown(facts.keys, ({ rows, whole }) => {
    const active = rows.filter(({ status: state }) => state === 'active');
    return [
      stats(
        stat('Active', count(active.length)),
        stat('Expire within 14 days', count(active.filter((key) => endsSoon(key, now)).length)),
        stat('Revoked or expired', count(rows.length - active.length)),
      ),
      card(
        {
          id: 'keys',
          title: 'Keys',
          note: staleMark(facts.keys, status.zone) ?? (whole ? null : `the first ${count(rows.length)}`),
          wide: true,
        },
        keyTable(rows, { zone: status.zone, now }),
      ),
    ];
  });
}

const endsSoon = ({ expires_at }: Key, now: number): boolean =>
  expires_at !== null && Date.parse(expires_at) - now < SOON_MS;

function keyTable(keys: readonly Key[], { zone, now }: { readonly zone: string; readonly now: number }): UiElement {
  return dataTable<Key>({
    caption: 'Keys',
    hideCaption: true,
    rows: keys,
    empty: 'There is no key. tokenlat keys create makes one.',
    columns: [
      { head: 'Name', cell: ({ name }) => named(name) },
      { head: 'State', cell: (key) => keyBadge(key, now) },
      { head: 'Tenant', cell: ({ tenant }) => named(tenant) },
      {
        head: 'Business line',
        cell: ({ business_line }) => (business_line === null ? '\u2013' : named(business_line)),
      },
      { head: 'Subject', cell: ({ subject }) => named(subject) },
      { head: 'Models', cell: ({ models }) => named(models.includes('*') ? 'all' : models.join(', ')) },
      { head: 'Secret', cell: ({ hint }) => h('code', {}, hint) },
      {
        head: 'Expires',
        cell: ({ expires_at }) => (expires_at === null ? 'never' : longDay(Date.parse(expires_at), zone)),
      },
    ],
  });
}

function keyBadge(key: Key, now: number): UiElement {
  if (key.status !== 'active') return badge('idle', key.status);
  if (!endsSoon(key, now)) return badge('good', 'active');
  return badge('warn', `active for ${span(Date.parse(key.expires_at ?? '') - now)}`);
}
