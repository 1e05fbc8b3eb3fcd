import { h } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';

/** How many series a chart tells apart; what is more goes together. */
export const SERIES = 7;

/** Marks laid over the colour of a series, so that it is told apart without colour too. The first has none. */
const MARKS: readonly (string | null)[] = [
  null,
  'M-2 2 2 -2M0 8 8 0M6 10 10 6',
  'M0 4H8',
  'M-2 6 2 10M0 0 8 8M6 -2 10 2',
  'M4 0V8',
  'M0 4H8M4 0V8',
  'M3 4h2',
  'M0 2H8M0 6H8',
];

const markOf = (at: number): string | null => MARKS[at % MARKS.length] ?? null;

/** Definitions of the patterns of a chart's series. */
export function patternDefs(id: string, series: number): UiElement {
  const patterns = Array.from({ length: series }, (_none, at) => {
    const d = markOf(at);
    if (d === null) return null;
    return h(
      'pattern',
      { id: `${id}-p${at}`, width: 8, height: 8, patternUnits: 'userSpaceOnUse' },
      h('path', { class: 'mark', d }),
    );
  });
  return h('defs', {}, patterns);
}

/** A rectangle in the colour and pattern of a series. `title` is its tooltip. */
export function seriesRect(
  id: string,
  at: number,
  place: { readonly x: string; readonly y: string; readonly width: string; readonly height: string },
  title: string | null = null,
): UiElement {
  return h(
    'g',
    { class: 'series' },
    title === null ? null : h('title', {}, title),
    h('rect', { class: `s${at}`, ...place }),
    markOf(at) === null ? null : h('rect', { fill: `url(#${id}-p${at})`, ...place }),
  );
}

/** The names of a chart's series, each with its colour and pattern. `id` is the chart's. */
export function legend(id: string, names: readonly string[]): UiElement {
  return h(
    'ul',
    { class: 'legend' },
    names.map((name, at) =>
      h(
        'li',
        {},
        h(
          'svg',
          { xmlns: 'http://www.w3.org/2000/svg', class: 'swatch', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
          seriesRect(id, at, { x: '0', y: '0', width: '16', height: '16' }),
        ),
        h('bdi', {}, name),
      ),
    ),
  );
}
