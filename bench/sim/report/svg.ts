import { svgText as text } from '../../report/svg-text.ts';
import type { Line, Plot } from './sheet.ts';

const WIDTH = 820;
const HEIGHT = 360;
const LEFT = 52;
const RIGHT = 240;
const TOP = 34;
const BOTTOM = 44;
/** Told apart by people who do not see all colours (Okabe and Ito). */
const COLOURS = [
  '#999999',
  '#e69f00',
  '#56b4e9',
  '#009e73',
  '#d0b800',
  '#0072b2',
  '#cc79a7',
  '#8a5a2b',
  '#555555',
  '#77aa55',
  '#b06fc0',
];
const OURS = '#d55e00';
const TICKS = 5;

/** A plot as an SVG file; the line called `ours` is drawn last and thick. */
export function svg(plot: Plot, ours: string): string {
  const right = WIDTH - RIGHT;
  const bottom = HEIGHT - BOTTOM;
  const x = (value: number): number => LEFT + (Math.min(value, plot.x.most) / plot.x.most) * (right - LEFT);
  const y = (value: number): number => bottom - (Math.min(value, plot.y.most) / plot.y.most) * (bottom - TOP);
  const lines = plot.lines.toSorted((a, b) => Number(a.name === ours) - Number(b.name === ours));
  const parts = [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    ...plot.marked.map(
      ([from, to]) =>
        `<rect x="${one(x(from))}" y="${TOP}" width="${one(x(to) - x(from))}" height="${bottom - TOP}" fill="#f3e9e9"/>`,
    ),
    text(plot.title, LEFT, 20, 'font-weight="bold"'),
    ...ticks(plot.y.most).flatMap((value) => [
      `<line x1="${LEFT}" x2="${right}" y1="${one(y(value))}" y2="${one(y(value))}" stroke="#dddddd"/>`,
      text(label(value), LEFT - 6, y(value) + 4, 'text-anchor="end"'),
    ]),
    ...ticks(plot.x.most).map((value) => text(label(value), x(value), bottom + 16, 'text-anchor="middle"')),
    text(plot.x.title, (LEFT + right) / 2, HEIGHT - 8, 'text-anchor="middle"'),
    text(plot.y.title, 14, (TOP + bottom) / 2, `text-anchor="middle" transform="rotate(-90 14 ${(TOP + bottom) / 2})"`),
    ...lines.flatMap((line, at) => drawn(line, { x, y, colour: colourOf(line, at, ours), isOurs: line.name === ours })),
    ...lines.toReversed().flatMap((line, at) => {
      const colour = colourOf(line, lines.length - 1 - at, ours);
      const top = TOP + 10 + at * 18;
      return [
        `<line x1="${right + 12}" x2="${right + 32}" y1="${top}" y2="${top}" stroke="${colour}" stroke-width="3"/>`,
        text(line.name, right + 38, top + 4, ''),
      ];
    }),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">\n${parts.join('\n')}\n</svg>\n`;
}

interface Drawing {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly colour: string;
  readonly isOurs: boolean;
}

function drawn({ points }: Line, { x, y, colour, isOurs }: Drawing): readonly string[] {
  const known = points.filter(([, value]) => Number.isFinite(value));
  const path = known.map(([at, value]) => `${one(x(at))},${one(y(value))}`).join(' ');
  return [`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${isOurs ? 2.5 : 1.3}"/>`];
}

function colourOf({ name }: Line, at: number, ours: string): string {
  return name === ours ? OURS : (COLOURS[at % COLOURS.length] ?? OURS);
}

function ticks(most: number): readonly number[] {
  return Array.from({ length: TICKS + 1 }, (_, at) => (most * at) / TICKS);
}

const one = (value: number): string => value.toFixed(1);
const label = (value: number): string => String(Number(value.toFixed(2)));
