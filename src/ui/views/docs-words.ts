import type { Operation } from '../docs/document.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';

/** Text whose words between backticks are code. */
export function prose(text: string): readonly Child[] {
  return text.split('`').map((part, at) => (at % 2 === 1 ? h('code', {}, part) : part));
}

/** The method, with a look of its own by what it does. */
export const method = ({ method: name, write }: Operation): UiElement =>
  h('span', { class: `method method-${name === 'DELETE' ? 'delete' : write ? 'write' : 'read'}` }, name);
