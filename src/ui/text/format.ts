const LOCALE = 'en-US';
const MICRO = 1_000_000;
const numbers = new Map<string, Intl.NumberFormat>();
const times = new Map<string, Intl.DateTimeFormat>();

function numberFormat(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  const known = numbers.get(key);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat(LOCALE, options);
  numbers.set(key, made);
  return made;
}

/** A code that is none, such as an empty one, must not break a page. */
function moneyFormat(currency: string, options: Intl.NumberFormatOptions): (value: number) => string {
  if (!/^[A-Z]{3}$/.test(currency)) return (value) => `${numberFormat(options).format(value)} ${currency}`.trim();
  const format = numberFormat({ ...options, style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  return (value) => format.format(value);
}

/** Micro-units as money for eyes: cents, and as many digits as it takes where there is less than one unit. */
export function money(micros: number, currency: string): string {
  const value = micros / MICRO;
  const small = value !== 0 && Math.abs(value) < 1;
  const digits = small
    ? { minimumFractionDigits: 2, maximumFractionDigits: Math.abs(value) < 0.01 ? 6 : 4 }
    : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return moneyFormat(currency, digits)(value);
}

/** Money at an axis: `$1.2K`. */
export function shortMoney(micros: number, currency: string): string {
  return moneyFormat(currency, { notation: 'compact', maximumSignificantDigits: 4 })(micros / MICRO);
}

export const count = (value: number): string => numberFormat({ maximumFractionDigits: 0 }).format(value);

/** `12.4M`; whole numbers below ten thousand stay as they are. */
export function shortCount(value: number): string {
  if (Math.abs(value) < 10_000) return numberFormat({ maximumFractionDigits: 1 }).format(value);
  return numberFormat({ notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

/** A part of 1 as `12.3 %`. */
export function percent(share: number): string {
  return `${numberFormat({ maximumFractionDigits: 1 }).format(share * 100)} %`;
}

/** Milliseconds as `840 ms` or `2.4 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${numberFormat({ maximumFractionDigits: 0 }).format(ms)} ms`;
  return `${numberFormat({ maximumFractionDigits: 1 }).format(ms / 1000)} s`;
}

/** How long until something: `in 3 days`, `in 20 min`. */
export function span(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000));
  if (minutes < 1) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

function timeFormat(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  const known = times.get(key);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: isZone(zone) ? zone : 'UTC' });
  times.set(key, made);
  return made;
}

/** Browsers know other zones than servers: a name that is not known here is shown as UTC. */
export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: zone }).format(0);
    return true;
  } catch {
    return false;
  }
}

/** `30 Nov 2026, 10:00`. */
export function dateTime(at: number, zone: string): string {
  return timeFormat(zone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at);
}

/** `10:00:05`. */
export function clockTime(at: number, zone: string): string {
  return timeFormat(zone, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }).format(at);
}

/** `30 Nov`. */
export const shortDay = (at: number, zone: string): string =>
  timeFormat(zone, { day: 'numeric', month: 'short' }).format(at);

/** `30 Nov 2026`. */
export const longDay = (at: number, zone: string): string =>
  timeFormat(zone, { day: 'numeric', month: 'short', year: 'numeric' }).format(at);

/** `10:00`. */
export const hourOfDay = (at: number, zone: string): string =>
  timeFormat(zone, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at);

/** The day of a moment as APIs have it: `2026-11-30`. */
export function isoDay(at: number, zone: string): string {
  const parts = Object.fromEntries(
    timeFormat(zone, { year: 'numeric', month: '2-digit', day: '2-digit' })
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return `${parts['year']}-${parts['month']}-${parts['day']}`;
}

/** The day that lies `days` later. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}
