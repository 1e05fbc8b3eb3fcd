import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';

/** A part of a page under a heading of its own. `id`: of it alone. */
export function card(
  {
    id,
    title,
    note = null,
    wide = false,
  }: { readonly id: string; readonly title: string; readonly note?: Child; readonly wide?: boolean },
  ...children: readonly Child[]
): UiElement {
  return h(
    'section',
    { class: wide ? 'card wide' : 'card', 'aria-labelledby': `${id}-head` },
    h(
      'div',
      { class: 'card-head' },
      h('h2', { id: `${id}-head` }, title),
      note === null ? null : h('p', { class: 'note' }, note),
    ),
    ...children,
  );
}

/** One figure with its name. `extra` stands below it. */
export function stat(label: string, value: Child, extra: Child = null): UiElement {
  return h(
    'div',
    { class: 'stat' },
    h('dt', {}, label),
    h('dd', {}, h('span', { class: 'figure' }, value), extra === null ? null : h('span', { class: 'extra' }, extra)),
  );
}

export const stats = (...items: readonly Child[]): UiElement => h('dl', { class: 'stats' }, ...items);

/** A drawing with the table of its figures behind it. */
export function figure(
  { label, table }: { readonly label: string; readonly table: UiElement },
  ...drawing: readonly Child[]
): UiElement {
  return h(
    'div',
    { class: 'figure' },
    h('div', { class: 'drawing', role: 'group', 'aria-label': label, tabindex: 0 }, ...drawing),
    h('details', {}, h('summary', {}, 'Show as table', h('span', { class: 'unseen' }, `: ${label}`)), table),
  );
}

/** A word about a state, with a mark of its own shape: colour is never alone. */
export function badge(level: 'good' | 'warn' | 'bad' | 'idle', text: string): UiElement {
  return h('span', { class: `badge badge-${level}` }, text);
}

/** A meter with its figure beside it. */
export const filled = (bar: Child, text: string): UiElement => h('div', { class: 'filled' }, bar, h('span', {}, text));
