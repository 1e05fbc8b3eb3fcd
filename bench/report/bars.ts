import { svgText as text } from './svg-text.ts';

/** One line of a plot: parts that lie one behind the other. */
export interface Bar {
  readonly name: string;
  readonly parts: readonly { readonly name: string; readonly value: number }[];
}

export interface BarPlot {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 820;
const LEFT = 160;
const RIGHT = 90;
const TOP = 56;
const STEP = 26;
const HIGH = 18;
/** Told apart by people who do not see all colours (Okabe and Ito). */
const COLOURS = ['#d55e00', '#56b4e9', '#009e73', '#e69f00', '#0072b2'];

/** Lying bars as an SVG file, each with its whole value. */
export function bars({ title, unit, bars }: BarPlot): string {
  const height = TOP + bars.length * STEP + 12;
  const names = [...new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)))];
  const most = Math.max(...bars.map(whole), Number.MIN_VALUE);
  const wide = (value: number): number => (value / most) * (WIDTH - LEFT - RIGHT);
  const lines = bars.flatMap((bar, at) => drawn(bar, { names, wide, y: TOP + at * STEP, unit }));
  const legend = names.flatMap((name, at) => {
    const x = LEFT + at * 110;
    return name === ''
      ? []
      : [`<rect x="${x}" y="32" width="12" height="12" fill="${COLOURS[at] ?? ''}"/>`, text(name, x + 18, 42, '')];
  });
  const parts = [
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(title, 12, 20, 'font-weight="bold"'),
    ...legend,
    ...lines,
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">\n${parts.join('\n')}\n</svg>\n`;
}

interface Drawing {
  readonly names: readonly string[];
  readonly wide: (value: number) => number;
  readonly y: number;
  readonly unit: string;
}

function drawn(bar: Bar, { names, wide, y, unit }: Drawing): readonly string[] {
  let x = LEFT;
  const rects = bar.parts.map(({ name, value }) => {
    const width = wide(value);
    const rect = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${HIGH}" fill="${COLOURS[names.indexOf(name)] ?? ''}"/>`;
    x += width;
    return rect;
  });
  const total = whole(bar);
  const shown = `${total >= 100 ? Math.round(total).toLocaleString('en') : total.toFixed(2)} ${unit}`.trim();
  return [
    text(bar.name, LEFT - 8, y + 13, `text-anchor="end"${bar.name === 'tokenlat' ? ' font-weight="bold"' : ''}`),
    ...rects,
    text(shown, x + 6, y + 13, ''),
  ];
}

function whole({ parts }: Bar): number {
  return parts.reduce((total, { value }) => total + value, 0);
}
