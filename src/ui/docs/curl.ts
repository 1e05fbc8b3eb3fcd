import type { Prepared } from './request.ts';

/** Where the line takes the token from: the token itself is never written. */
export const TOKEN_VARIABLE = 'TOKENLAT_ADMIN_TOKEN';

/** The request as a command of a POSIX shell. */
export function curlOf({ method, url, headers, body }: Prepared): string {
  const lines = [`curl --request ${quoted(method)} ${quoted(url)}`];
  lines.push(`--header "Authorization: Bearer $${TOKEN_VARIABLE}"`);
  for (const [name, value] of Object.entries(headers)) lines.push(`--header ${quoted(`${name}: ${value}`)}`);
  // `--data` would read a file where the text begins with `@`.
  if (body !== null) lines.push(`--data-raw ${quoted(body)}`);
  return lines.join(' \\\n  ');
}

/** A word that the shell takes as it is: between single quotes nothing but their end means anything. */
export function quoted(text: string): string {
  if (/^[A-Z]+$/.test(text)) return text;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
