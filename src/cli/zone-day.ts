import { InvalidArgumentError } from 'commander';

const DAY_MS = 86_400_000;

/** The day (`2026-11-30`) of a moment, Unix milliseconds, in an IANA zone. */
export function dayOf(time: number, zone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(time);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
}

/** The day that lies `days` later. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, day.length);
}

/** Checks the word of `--day`. Throws `InvalidArgumentError`. */
export function parseDay(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text) && isDay(text)) return text;
  throw new InvalidArgumentError('A day is written 2027-01-31.');
}

/** Checks the word of `--zone`. Throws `InvalidArgumentError`. */
export function parseZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone && text;
  } catch {
    throw new InvalidArgumentError('It must be the name of a time zone such as Europe/Berlin.');
  }
}

function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text);
}
