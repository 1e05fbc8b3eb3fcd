/** Text as it may stand in XML, between tags or in quotes. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** A line of text in a plot. */
export function svgText(content: string, x: number, y: number, attributes: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="#222222" ${attributes}>${escaped(content)}</text>`;
}
