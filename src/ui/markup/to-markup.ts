import { visible } from '../text/visible.ts';
import type { UiNode } from './node.ts';

const VOID = new Set(['br', 'col', 'hr', 'input', 'link', 'meta']);
/** Between whose children a line break changes nothing that is seen. */
const BLOCKS = new Set([
  'article',
  'body',
  'figure',
  'head',
  'header',
  'main',
  'section',
  'table',
  'tbody',
  'thead',
  'tr',
  'svg',
  'g',
  'ul',
]);

/** HTML (and SVG inside it). Every text is escaped here, in the one place where markup is made. */
export function toMarkup(node: UiNode): string {
  if (typeof node === 'string') return escapeText(node);
  const attrs = Object.entries(node.attrs).map(([name, value]) => ` ${name}="${escapeText(value)}"`);
  const open = `<${node.tag}${attrs.join('')}>`;
  if (VOID.has(node.tag)) return open;
  const gap = BLOCKS.has(node.tag) ? '\n' : '';
  return `${open}${node.children.map((child) => gap + toMarkup(child)).join('')}${gap}</${node.tag}>`;
}

/** Text between tags or in quotes. */
export function escapeText(text: string): string {
  return visible(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
