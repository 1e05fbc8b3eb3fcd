/** First line of every generated page. */
export const GENERATED = '<!-- Made by `node scripts/docs/main.ts`: changes made here are lost. -->';

/** A table; a bar inside a cell is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(' | ')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}

export function code(text: string): string {
  return `\`${text}\``;
}
