import type { Frame } from './read-profile.ts';
import { escaped } from './svg-text.ts';

const WIDTH = 1600;
const ROW = 17;
const TOP = 24;
/** Narrower boxes are left out, with all above them. */
const LEAST = 3;
/** Pixels a character of the font takes. */
const CHAR = 6.6;

/** A flame graph: callers below, callees above, each box with its share in a tooltip. */
export function flameSvg(root: Frame): string {
  const boxes: string[] = [];
  const levels = draw(root, { x: 0, level: 0, total: root.micros, boxes });
  const height = TOP + (levels + 1) * ROW + 8;
  const rows = boxes.map((box) =>
    box.replace(/@(\d+)@/g, (_, level: string) => String(height - 8 - (Number(level) + 1) * ROW)),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
<text x="6" y="16">Where the CPU time of a request goes: width is the share of the busy time, ${Math.round(root.micros / 1000)} ms in all</text>
${rows.join('\n')}
</svg>
`;
}

interface Place {
  readonly x: number;
  readonly level: number;
  readonly total: number;
  readonly boxes: string[];
}

/** Gives how many levels it drew above. */
function draw(frame: Frame, { x, level, total, boxes }: Place): number {
  const width = (frame.micros / total) * WIDTH;
  if (width < LEAST) return level - 1;
  boxes.push(box(frame, x, width, level, total));
  let left = x;
  let highest = level;
  for (const call of [...frame.calls.values()].toSorted((a, b) => b.micros - a.micros)) {
    highest = Math.max(highest, draw(call, { x: left, level: level + 1, total, boxes }));
    left += (call.micros / total) * WIDTH;
  }
  return highest;
}

function box({ name, room, micros }: Frame, x: number, width: number, level: number, total: number): string {
  const share = `${((100 * micros) / total).toFixed(1)} %`;
  const fits = Math.floor((width - 4) / CHAR);
  const label = fits < 3 ? '' : name.slice(0, fits);
  const at = `x="${x.toFixed(1)}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${ROW - 1}"`;
  const text = label === '' ? '' : `<text x="${(x + 2).toFixed(1)}" y="@${level}@" dy="12">${escaped(label)}</text>`;
  return `<g><title>${escaped(name)}, ${share}</title><rect y="@${level}@" ${at} fill="${colour(room)}"/>${text}</g>`;
}

/** The same room has the same colour in every picture. */
function colour(room: string): string {
  let hash = 0;
  for (const char of room) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 360;
  return `hsl(${hash} 65% 78%)`;
}
