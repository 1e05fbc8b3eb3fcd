import { meter } from '../charts/meter.ts';
import type { QuotaLine } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child } from '../markup/node.ts';
import { card, filled } from '../parts/card.ts';
import { dataTable, named } from '../parts/table.ts';
import { count, dateTime, money, percent, span } from '../text/format.ts';
import { shown, staleMark } from './part-view.ts';
import type { ViewModel } from './view-model.ts';

const LEVELS: Readonly<Record<string, string>> = {
  tenant: 'The whole tenant',
  line: 'Business line',
  key: 'Key',
  subject: 'Subject',
  model: 'Model',
};

/** `line:ads` in words; of several, one after the other. */
export function scopeWords(scope: string): string {
  return scope
    .split('|')
    .map((part) => {
      const at = part.indexOf(':');
      const level = LEVELS[at < 0 ? part : part.slice(0, at)] ?? part;
      return at < 0 ? level : `${level} ${part.slice(at + 1)}`;
    })
    .join(', ');
}

/** Where the limits of a tenant stand. */
export function limitsView({ choice, status, facts, now }: ViewModel): Child {
  const tenant = choice.tenant ?? status.tenant;
  if (tenant === null)
    return h(
      'div',
      { class: 'notice' },
      h('p', { class: 'what' }, 'Choose a tenant above.'),
      h('p', {}, 'Limits are those of one tenant: of all of it, its business lines and models.'),
    );
  return card(
    { id: 'limits', title: 'Limits', note: staleMark(facts.quotas, status.zone), wide: true },
    shown(facts.quotas, ({ data }) =>
      dataTable<QuotaLine>({
        caption: `Limits of ${tenant}`,
        rows: data,
        empty: 'This tenant has no limits.',
        columns: [
          { head: 'Limit', cell: ({ name }) => name.replaceAll('_', ' ') },
          { head: 'Applies to', cell: ({ scope }) => named(scopeWords(scope)) },
          { head: 'Used up', cell: usedCell },
          { head: 'Used', number: true, cell: (line) => amount(line, line.limit - line.remaining) },
          { head: 'Limit', number: true, cell: (line) => amount(line, line.limit) },
          { head: 'Free again', cell: ({ reset_at }) => freeAgain(Date.parse(reset_at), now, status.zone) },
        ],
      }),
    ),
  );
}

const usedShare = ({ limit, remaining }: QuotaLine): number => (limit > 0 ? (limit - remaining) / limit : 1);
function usedCell(line: QuotaLine): Child {
  const text = percent(usedShare(line));
  return filled(meter({ label: `${line.name}: ${text} used`, share: usedShare(line) }), text);
}

const amount = ({ unit }: QuotaLine, value: number): string => (unit === 'spend' ? money(value, '') : count(value));

function freeAgain(at: number, now: number, zone: string): string {
  return at <= now ? 'now' : `in ${span(at - now)}, ${dateTime(at, zone)}`;
}
