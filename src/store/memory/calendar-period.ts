/** A UTC day or month: its name and where it ends (unix ms). */
export function periodAt(now: number, unit: 'day' | 'month'): { readonly id: string; readonly end: number } {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  return unit === 'day'
    ? { id: date.toISOString().slice(0, 10), end: Date.UTC(year, month, day + 1) }
    : { id: date.toISOString().slice(0, 7), end: Date.UTC(year, month + 1, 1) };
}
