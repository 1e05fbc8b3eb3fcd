import { h } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';
import { chart, emptyChart, WIDTH } from './chart.ts';
import type { ChartFrame } from './chart.ts';
import { patternDefs, seriesRect } from './pattern.ts';
import { labelStep, linear, px, scaleFor } from './scale.ts';

export interface StackedBarsOptions extends ChartFrame {
  readonly series: readonly string[];
  /** One a day or hour: a value >= 0 for each series. */
  readonly bars: readonly { readonly label: string; readonly values: readonly number[] }[];
  /** Values in tooltips, and at the axis. */
  readonly format: (value: number) => string;
  readonly axis: (value: number) => string;
}

const HEIGHT = 260;
const TOP = 14;
const BOTTOM = 30;
const RIGHT = 8;
const LABEL = 62;
/** Widest bar: one lone day must not be a wall. */
const WIDEST = 56;

/** Bars over time, one part a series. */
export function stackedBars(options: StackedBarsOptions): UiElement {
  const { id, series, bars, axis, format, width = WIDTH } = options;
  const totals = bars.map(({ values }) => values.reduce((sum, value) => (value > 0 ? sum + value : sum), 0));
  const largest = Math.max(0, ...totals);
  if (largest <= 0) return emptyChart(options, HEIGHT / 2, 'Nothing in this time.');
  const scale = scaleFor(largest);
  const names = scale.ticks.map(axis);
  const left = 14 + Math.max(...names.map((name) => name.length)) * 7;
  const y = linear([0, scale.max], [HEIGHT - BOTTOM, TOP]);
  const band = (width - left - RIGHT) / bars.length;
  const thick = Math.min(WIDEST, band * 0.72);
  const every = labelStep(bars.length, width - left - RIGHT, LABEL);
  const middle = (at: number): number => left + band * (at + 0.5);
  return chart(
    options,
    { width, height: HEIGHT, kind: 'bars' },
    patternDefs(id, series.length),
    scale.ticks.map((tick, at) => [
      h('line', {
        class: at === 0 ? 'axis' : 'grid',
        x1: px(left),
        x2: width - RIGHT,
        y1: px(y(tick)),
        y2: px(y(tick)),
      }),
      h('text', { class: 'tick', x: px(left - 8), y: px(y(tick) + 4), 'text-anchor': 'end' }, names[at]),
    ]),
    bars.map(({ label, values }, at) => {
      let below = 0;
      const parts = values.map((value, which) => {
        if (!(value > 0)) return null;
        const from = y(below);
        below += value;
        const height = Math.max(0, from - y(below));
        const place = { x: px(middle(at) - thick / 2), y: px(y(below)), width: px(thick), height: px(height) };
        return seriesRect(id, which, place, `${label}, ${series[which] ?? ''}: ${format(value)}`);
      });
      return h('g', { class: 'bar' }, parts);
    }),
    bars.map(({ label }, at) => {
      if ((bars.length - 1 - at) % every !== 0) return null;
      const atEdge = middle(at) + LABEL / 2 > width;
      const [x, anchor] = atEdge ? [width, 'end'] : [middle(at), 'middle'];
      return h('text', { class: 'tick', x: px(x), y: HEIGHT - 8, 'text-anchor': anchor }, label);
    }),
  );
}
