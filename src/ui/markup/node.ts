/** What attributes may be given; `false`, `null` and `undefined` leave one out, `true` writes it empty. */
export type AttrValue = string | number | boolean | null | undefined;
export type Attrs = Readonly<Record<string, AttrValue>>;

/** A piece of a page or a drawing. Text is a string and stays text, wherever it is shown. */
export type UiNode = UiElement | string;

export interface UiElement {
  readonly tag: string;
  readonly attrs: Readonly<Record<string, string>>;
  readonly children: readonly UiNode[];
  /** Listeners by event; pages without script have none. */
  readonly on: Readonly<Record<string, (event: { readonly target: unknown }) => void>>;
}

/** What may stand between tags: lists are spread, nothing is left out. */
export type Child = UiNode | number | null | undefined | false | readonly Child[];

const NAME = /^[A-Za-z][\w:-]*$/;
/** Attributes that would carry code or a look of their own, which the content security policy forbids. */
const FORBIDDEN_ATTR = /^(?:on|style$|srcdoc$)/i;
const FORBIDDEN_TAG = /^(?:script|style|iframe|object|embed|base|foreignobject)$/i;
const LINK_ATTR = /^(?:href|src|xlink:href|action|formaction)$/i;
const SAFE_LINK = /^(?:#|[a-z0-9][\w./-]*(?:[?#].*)?$)/i;

/** Makes an element. Throws `RangeError` for tags, attributes and links that could run code or lead elsewhere. */
export function h(tag: string, attrs: Attrs = {}, ...children: readonly Child[]): UiElement {
  if (!NAME.test(tag) || FORBIDDEN_TAG.test(tag)) throw new RangeError(`not an element of a page: ${tag}`);
  return { tag, attrs: checked(attrs), children: children.flatMap(nodesOf), on: {} };
}

/** The same element with listeners. */
export function listening(element: UiElement, on: UiElement['on']): UiElement {
  return { ...element, on: { ...element.on, ...on } };
}

function checked(attrs: Attrs): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(attrs)) {
    if (!NAME.test(name) || FORBIDDEN_ATTR.test(name)) throw new RangeError(`not an attribute of a page: ${name}`);
    if (value === false || value === null || value === undefined) continue;
    const text = value === true ? '' : String(value);
    if (LINK_ATTR.test(name) && !SAFE_LINK.test(text)) throw new RangeError(`not a link of a page: ${text}`);
    kept[name] = text;
  }
  return kept;
}

function nodesOf(child: Child): readonly UiNode[] {
  if (child === null || child === undefined || child === false) return [];
  if (typeof child === 'number') return [String(child)];
  if (typeof child === 'string') return child === '' ? [] : [child];
  if (isList(child)) return child.flatMap(nodesOf);
  return [child];
}

const isList = (child: UiElement | readonly Child[]): child is readonly Child[] => Array.isArray(child);

/** All text of a node, as a reader hears it. */
export function textOf(node: UiNode): string {
  return typeof node === 'string' ? node : node.children.map(textOf).join('');
}
