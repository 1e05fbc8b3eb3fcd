const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** How durations are written: `500ms`, `5s`, `1m`, `1h`, `30d`; whole numbers or decimals. */
export const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/;
/** How sizes are written: `512B`, `64KiB`, `8MiB`. */
export const SIZE = /^(\d{1,9}(?:\.\d{1,3})?)(B|KiB|MiB|GiB)$/;

/** `5s` as 5000 ms, rounded to whole milliseconds; null for any other form. */
export function parseDuration(text: string): number | null {
  return scaled(DURATION.exec(text), MILLISECONDS);
}

/** `8MiB` as 8388608 bytes, rounded to whole bytes; null for any other form. */
export function parseSize(text: string): number | null {
  return scaled(SIZE.exec(text), BYTES);
}

/** 5000 as `5s`, in the largest unit that divides it. */
export function formatDuration(ms: number): string {
  return written(ms, MILLISECONDS, 'ms');
}

/** 8388608 as `8MiB`, in the largest unit that divides it. */
export function formatSize(bytes: number): string {
  return written(bytes, BYTES, 'B');
}

function scaled(match: RegExpExecArray | null, units: Readonly<Record<string, number>>): number | null {
  const unit = units[match?.[2] ?? ''];
  return match === null || unit === undefined ? null : Math.round(Number(match[1]) * unit);
}

function written(value: number, units: Readonly<Record<string, number>>, smallest: string): string {
  const fits = Object.entries(units).filter(([, size]) => value > 0 && value % size === 0);
  const [unit, size] = fits.at(-1) ?? [smallest, 1];
  return `${value / size}${unit}`;
}
