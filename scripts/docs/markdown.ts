/** First line of every generated page. */
export const GENERATED = '<!-- Made by `node scripts/docs/main.ts`: changes made here are lost. -->';

/** A table; a bar inside a cell is escaped, and so is what would read as a tag. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}

export function code(text: string): string {
  return `\`${text}\``;
}
