import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { chart, WIDTH } from './chart.ts';
import type { ChartFrame } from './chart.ts';
import { linear, px, scaleFor } from './scale.ts';

export interface BurnDownOptions extends ChartFrame {
  /** The running period, Unix milliseconds; `now` may lie outside. */
  readonly from: number;
  readonly to: number;
  readonly now: number;
  /** What may be spent, what is spent by now, and what will be at this pace when the period ends. Micro-units. */
  readonly amount: number;
  readonly spent: number;
  readonly forecast: number;
  readonly exhaustedAt: number | null;
  /** What was spent by the end of each day or hour, rising. The first point is the start with 0. */
  readonly points: readonly { readonly at: number; readonly spent: number }[];
  /** Percentages that raise alerts. */
  readonly alerts: readonly number[];
  readonly axis: (value: number) => string;
  readonly time: (at: number) => string;
}

const HEIGHT = 240;
const TOP = 20;
const BOTTOM = 30;
const RIGHT = 12;
/** Letters of a label beside the line. */
const LETTER = 7;

/** What is left of a budget, and where the pace leads: a solid line to now, a dashed one from there. */
export function burnDown(options: BurnDownOptions): UiElement {
  const { from, to, amount, axis, time, width = WIDTH } = options;
  const now = Math.max(from, Math.min(to, options.now));
  const scale = scaleFor(amount);
  const names = scale.ticks.map(axis);
  const left = 14 + Math.max(...names.map((name) => name.length)) * LETTER;
  const x = linear([from, to], [left, width - RIGHT]);
  const y = linear([0, scale.max], [HEIGHT - BOTTOM, TOP]);
  const leftAt = (spent: number): number => Math.max(0, amount - spent);
  const line = [...options.points.filter(({ at }) => at < now), { at: now, spent: options.spent }];
  const steps = line.map(({ at, spent }) => `${px(x(at))} ${px(y(leftAt(spent)))}`);
  const here = `${px(x(now))} ${px(y(leftAt(options.spent)))}`;
  return chart(
    options,
    { width, height: HEIGHT, kind: 'burn' },
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
    alertLines(options, { left, right: width - RIGHT, y }),
    h('path', { class: 'pace', d: `M${px(x(from))} ${px(y(amount))}L${px(x(to))} ${px(y(0))}` }),
    h('path', { class: 'area', d: `M${px(x(from))} ${px(y(0))}L${steps.join('L')}L${px(x(now))} ${px(y(0))}Z` }),
    h('path', { class: 'line', d: `M${steps.join('L')}` }),
    ahead(options, { now, x, y, here }),
    h('circle', { class: 'dot', cx: px(x(now)), cy: px(y(leftAt(options.spent))), r: 4 }),
    h('text', { class: 'tick', x: px(left), y: HEIGHT - 8, 'text-anchor': 'start' }, time(from)),
    h('text', { class: 'tick', x: width - RIGHT, y: HEIGHT - 8, 'text-anchor': 'end' }, time(to)),
  );
}

interface Place {
  readonly now: number;
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
  readonly here: string;
}

/** The dashed line to where the money ends, or to what is left when the period ends; with words at its end. */
function ahead(options: BurnDownOptions, { now, x, y, here }: Place): Child {
  const { amount, spent, forecast, exhaustedAt, to, time, axis, width = WIDTH } = options;
  const start = { x: x(now), y: y(Math.max(0, amount - spent)) };
  if (spent >= amount) return words('full', 'used up', { start, end: { x: start.x + 45, y: start.y }, width });
  if (now >= to) return null;
  const at = exhaustedAt !== null && exhaustedAt > now && exhaustedAt <= to ? exhaustedAt : null;
  const rest = Math.max(0, amount - forecast);
  const end = at === null ? { x: x(to), y: y(rest) } : { x: x(at), y: y(0) };
  return [
    h('path', { class: at === null ? 'ahead' : 'ahead ahead-full', d: `M${here}L${px(end.x)} ${px(end.y)}` }),
    at === null
      ? words('fine', `${axis(rest)} left at this pace`, { start, end, width })
      : words('full', `used up ${time(at)} at this pace`, { start, end, width }),
  ];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Words at the end of a line, above it as far as they reach, or below where there is no room. */
function words(
  level: 'fine' | 'full',
  text: string,
  { start, end, width }: { readonly start: Point; readonly end: Point; readonly width: number },
): UiElement {
  const half = (text.length * LETTER) / 2;
  const middle = Math.max(half + 90, Math.min(width - RIGHT - half, end.x));
  const line = linear([start.x, Math.max(start.x + 1, end.x)], [start.y, end.y]);
  const above = line(middle - half) - 10;
  const y = above < TOP ? line(middle + half) + 20 : above;
  return h('text', { class: `note note-${level}`, x: px(middle), y: px(y), 'text-anchor': 'middle' }, text);
}

/** An alert at 80 % is where 20 % are left. */
function alertLines(
  { amount, alerts }: BurnDownOptions,
  { left, right, y }: { readonly left: number; readonly right: number; readonly y: (value: number) => number },
): Child {
  return alerts
    .filter((percent) => percent > 0 && percent < 100)
    .map((percent) => {
      const at = y(amount * (1 - percent / 100));
      return [
        h('line', { class: 'alert', x1: px(left), x2: right, y1: px(at), y2: px(at) }),
        h('text', { class: 'alert-name', x: px(left + 6), y: px(at - 5) }, `alert at ${percent} %`),
      ];
    });
}
