import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { shortened } from '../text/visible.ts';
import { chart, emptyChart, WIDTH } from './chart.ts';
import type { ChartFrame } from './chart.ts';
import { linear, px } from './scale.ts';

export interface BarListOptions extends ChartFrame {
  /** Largest first, as they are shown. Values >= 0. */
  readonly rows: readonly { readonly label: string; readonly value: number; readonly note?: string }[];
  readonly format: (value: number) => string;
}

const ROW = 34;
/** Units that a letter takes in the widest of usual fonts. */
const LETTER = 7.8;

/** Bars beside their names, each with its value: no legend, no axis. */
export function barList(options: BarListOptions): UiElement {
  const { rows, format, width = WIDTH } = options;
  if (rows.length === 0) return emptyChart(options, 80, 'Nothing in this time.');
  const most = Math.max(10, Math.floor((width * 0.36) / LETTER));
  const texts = rows.map(({ value, note }) => (note === undefined ? format(value) : `${format(value)} (${note})`));
  const names = rows.map(({ label }) => shortened(label, most));
  const left = 12 + Math.max(...names.map((name) => name.length)) * LETTER;
  const right = 12 + Math.max(...texts.map((text) => text.length)) * LETTER;
  const largest = Math.max(0, ...rows.map(({ value }) => value));
  const length = linear([0, largest], [0, Math.max(20, width - left - right)]);
  return chart(
    options,
    { width, height: rows.length * ROW, kind: 'list' },
    rows.map(({ label, value }, at) => {
      const y = at * ROW;
      const long = value > 0 ? Math.max(2, length(value)) : 0;
      return h(
        'g',
        { class: 'bar' },
        h('title', {}, `${label}: ${texts[at]}`),
        h('text', { class: 'name', x: 0, y: y + 22 }, names[at]),
        h('rect', { class: 'track', x: px(left), y: y + 9, width: px(width - left - right), height: 16, rx: 3 }),
        h('rect', { class: 's0', x: px(left), y: y + 9, width: px(long), height: 16, rx: 3 }),
        h(
          'text',
          { class: 'value', x: px(width), y: y + 22, 'text-anchor': 'end' },
          format(value),
          noteOf(rows[at]?.note),
        ),
      );
    }),
  );
}

function noteOf(note: string | undefined): Child {
  return note === undefined ? null : h('tspan', { class: 'quiet', dx: 8 }, note);
}
