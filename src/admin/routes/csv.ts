/** One cell of RFC 4180. A text that a spreadsheet would take for a formula gets a `'` in front. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+@\t\r]|^-(?!\d+(?:\.\d+)?$)/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table with its head, lines ended by CRLF. Numbers must come as numbers or as plain decimals of them. */
export function toCsv(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [head, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}
