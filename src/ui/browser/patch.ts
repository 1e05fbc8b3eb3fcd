import type { UiElement, UiNode } from '../markup/node.ts';
import { visible } from '../text/visible.ts';

const SVG = 'http://www.w3.org/2000/svg';
/** What each element was made of: only differences to it are changed, so what a person did (opened, typed) stays. */
const made = new WeakMap<Node, UiElement>();

/** Makes `element` look like `next`, with as few changes as it takes: focus, scrolling and selections stay. */
export function patch(element: Element, next: UiElement): void {
  const before = made.get(element) ?? null;
  made.set(element, next);
  patchAttrs(element, before, next);
  patchListeners(element, before, next);
  patchChildren(element, next.children);
}

function patchAttrs(element: Element, before: UiElement | null, { attrs }: UiElement): void {
  for (const name of Object.keys(before?.attrs ?? {})) if (!(name in attrs)) setAttr(element, name, null);
  for (const [name, value] of Object.entries(attrs)) if (before?.attrs[name] !== value) setAttr(element, name, value);
}

function setAttr(element: Element, name: string, value: string | null): void {
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, visible(value));
  // The attribute is only what a field begins with.
  if (name === 'value' && (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement))
    if (element.value !== value) element.value = value ?? '';
  // The attribute is only what an option begins with.
  if (name === 'selected' && element instanceof HTMLOptionElement) element.selected = value !== null;
}

function patchListeners(element: Element, before: UiElement | null, next: UiElement): void {
  for (const type of Object.keys(next.on)) {
    if (before !== null && type in before.on) continue;
    element.addEventListener(type, (event) => {
      if (type === 'submit') event.preventDefault();
      made.get(element)?.on[type]?.({ target: event.target });
    });
  }
}

function patchChildren(parent: Element, children: readonly UiNode[]): void {
  for (const [at, child] of children.entries()) {
    const existing = parent.childNodes[at] ?? null;
    if (typeof child === 'string') putText(parent, existing, visible(child));
    else if (existing instanceof Element && fits(existing, child)) patch(existing, child);
    else put(parent, existing, create(child, parent));
  }
  while (parent.childNodes.length > children.length) parent.lastChild?.remove();
}

function putText(parent: Element, existing: ChildNode | null, text: string): void {
  if (!(existing instanceof Text)) put(parent, existing, new Text(text));
  else if (existing.data !== text) existing.data = text;
}

function put(parent: Element, existing: ChildNode | null, made: Node): void {
  if (existing === null) parent.append(made);
  else existing.replaceWith(made);
}

/** Another id is another thing, though it looks alike. */
function fits(element: Element, { tag, attrs, on }: UiElement): boolean {
  const before = made.get(element);
  if (before === undefined || before.tag !== tag) return false;
  return before.attrs['id'] === attrs['id'] && Object.keys(before.on).join() === Object.keys(on).join();
}

function create(node: UiElement, parent: Element): Element {
  const drawn = node.tag === 'svg' || parent.namespaceURI === SVG;
  const element = drawn ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  patch(element, node);
  return element;
}
