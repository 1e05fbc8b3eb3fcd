import { h } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';
import { px } from './scale.ts';

/** How full something is: below 80 %, from there on, and used up. */
export type Level = 'fine' | 'near' | 'full';

/** `share`: of the whole; `near`: from where on it is nearly used up. */
export function levelOf(share: number, near = 0.8): Level {
  return share >= 1 ? 'full' : share >= near ? 'near' : 'fine';
}

export interface MeterOptions {
  /** What it measures, with the figure: what a reader hears. */
  readonly label: string;
  /** Of the whole; more than 1 is shown as full. */
  readonly share: number;
  /** Marks, as shares of the whole. */
  readonly marks?: readonly number[];
  /** Where it is going to end, as a share. */
  readonly forecast?: number | null;
}

const WIDE = 200;
const HIGH = 10;

/** A bar that fills up. What it says is beside it in words too. */
export function meter({ label, share, marks = [], forecast = null }: MeterOptions): UiElement {
  const bounded = (part: number): number => Math.max(0, Math.min(1, Number.isFinite(part) ? part : 0));
  const level = levelOf(share);
  return h(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      class: `meter meter-${level}`,
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    h('rect', { class: 'track', x: 0, y: 0, width: WIDE, height: HIGH }),
    forecast === null
      ? null
      : h('rect', { class: 'ahead', x: 0, y: 0, width: px(bounded(forecast) * WIDE), height: HIGH }),
    h('rect', { class: 'fill', x: 0, y: 0, width: px(bounded(share) * WIDE), height: HIGH }),
    marks
      .filter((mark) => mark > 0 && mark < 1)
      .map((mark) => h('rect', { class: 'tickmark', x: px(mark * WIDE - 0.5), y: 0, width: 1, height: HIGH })),
  );
}
