import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';

export interface TableColumn<R> {
  readonly head: string;
  readonly cell: (row: R) => Child;
  /** Figures stand at the right. */
  readonly number?: boolean;
}

/** A table whose first column names its rows. On a small screen it scrolls, also by keyboard. */
export function dataTable<R>({
  caption,
  columns,
  rows,
  empty = 'Nothing here.',
  hideCaption = false,
}: {
  readonly caption: string;
  readonly columns: readonly TableColumn<R>[];
  readonly rows: readonly R[];
  readonly empty?: string;
  /** For ears only, where a heading says the same to eyes. */
  readonly hideCaption?: boolean;
}): UiElement {
  const head = columns.map(({ head: text, number }) =>
    h('th', { scope: 'col', class: number === true && 'number' }, text),
  );
  const body = rows.map((row) =>
    h(
      'tr',
      {},
      columns.map(({ cell, number }, at) =>
        at === 0
          ? h('th', { scope: 'row', class: number === true && 'number' }, cell(row))
          : h('td', { class: number === true && 'number' }, cell(row)),
      ),
    ),
  );
  const none = h('tr', {}, h('td', { colspan: columns.length, class: 'none' }, empty));
  return h(
    'div',
    { class: 'scroll', role: 'group', 'aria-label': caption, tabindex: 0 },
    h(
      'table',
      {},
      h('caption', { class: hideCaption && 'unseen' }, caption),
      h('thead', {}, h('tr', {}, head)),
      h('tbody', {}, rows.length === 0 ? none : body),
    ),
  );
}

/** A name from outside: it keeps its own direction, whatever script it is in. */
export const named = (text: string): UiElement => h('bdi', {}, text);
