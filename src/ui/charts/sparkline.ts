import { h } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';
import { linear, px } from './scale.ts';

const WIDE = 120;
const HIGH = 28;

/** The last values of something, oldest first, for eyes only: the figure stands beside it. `room`: how many there can be. */
export function sparkline(values: readonly number[], room: number): UiElement {
  const x = linear([0, Math.max(1, room - 1)], [1, WIDE - 1]);
  const y = linear([0, Math.max(1, ...values)], [HIGH - 2, 2]);
  const first = room - values.length;
  const points = values.map((value, at) => `${px(x(first + at))} ${px(y(value))}`);
  return h(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      class: 'spark',
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    points.length < 2 ? null : h('path', { class: 'line', d: `M${points.join('L')}` }),
  );
}
