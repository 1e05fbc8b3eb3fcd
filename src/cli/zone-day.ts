import { InvalidArgumentError } from 'commander';
import { isZone, periodAt } from '../lib/calendar/calendar-period.ts';

const DAY_MS = 86_400_000;

/** The day (`2026-11-30`) of a moment, Unix milliseconds, in an IANA zone. */
export function dayOf(time: number, zone: string): string {
  return periodAt(time, 'day', zone).id;
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
  if (isZone(text)) return text;
  throw new InvalidArgumentError('It must be the name of a time zone such as Europe/Berlin.');
}

function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text);
}
