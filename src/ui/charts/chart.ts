import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';

/** What every chart is given. */
export interface ChartFrame {
  /** Of this chart alone on its page: letters, digits, `-`. */
  readonly id: string;
  readonly title: string;
  /** What it shows, in words: for those who do not see it. */
  readonly desc: string;
  /** Units of the drawing, which is scaled to its place. Default: 720. */
  readonly width?: number;
}

export const WIDTH = 720;

/** A drawing with a name and a description. */
export function chart(
  { id, title, desc }: ChartFrame,
  { width, height, kind }: { readonly width: number; readonly height: number; readonly kind: string },
  ...children: readonly Child[]
): UiElement {
  if (!/^[A-Za-z][\w-]*$/.test(id)) throw new RangeError(`not an id: ${id}`);
  return h(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      class: `chart chart-${kind}`,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-labelledby': `${id}-title ${id}-desc`,
    },
    h('title', { id: `${id}-title` }, title),
    h('desc', { id: `${id}-desc` }, desc),
    ...children,
  );
}

/** What stands in the place of a drawing that has nothing to show. */
export function emptyChart(frame: ChartFrame, height: number, text: string): UiElement {
  const width = frame.width ?? WIDTH;
  return chart(
    frame,
    { width, height, kind: 'empty' },
    h('rect', { class: 'empty-frame', x: 1, y: 1, width: width - 2, height: height - 2, rx: 8 }),
    h('text', { class: 'empty-text', x: width / 2, y: height / 2 + 4, 'text-anchor': 'middle' }, text),
  );
}
