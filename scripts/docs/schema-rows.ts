import { DURATION, SIZE } from '../../src/config/units.ts';

/** A node of the JSON Schema, as far as it is read here. */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly SchemaNode[];
  readonly items?: SchemaNode;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaNode;
}

/** One key of the configuration. */
export interface KeyRow {
  readonly key: string;
  readonly type: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** `Default: …` stands at the end of a description and goes into a column of its own. */
const FALLBACK = /^(.*?)\s*Default: (.+?)\.$/s;

/** Every key below `node`, in the order of the schema; `[]` stands for an entry of a list, `<name>` for a free key. */
export function rowsOf(node: SchemaNode, prefix: string): readonly KeyRow[] {
  const plain = withoutReference(node);
  if (plain.items !== undefined) return rowsOf(plain.items, `${prefix}[]`);
  if (plain.anyOf !== undefined) return rowsOf(plain.anyOf.find(isTree) ?? {}, prefix);
  const below = Object.entries(plain.properties ?? {}).map(
    ([name, child]) =>
      [prefix === '' ? name : `${prefix}.${name}`, child, plain.required?.includes(name) === true] as const,
  );
  const free = plain.additionalProperties;
  const inner = typeof free === 'object' ? [[`${prefix}.<name>`, free, false] as const] : [];
  return [...below, ...inner].flatMap(([key, child, required]) => [rowOf(key, child, required), ...rowsOf(child, key)]);
}

function isTree(node: SchemaNode): boolean {
  return node.properties !== undefined || node.items?.properties !== undefined;
}

function rowOf(key: string, node: SchemaNode, required: boolean): KeyRow {
  const match = FALLBACK.exec(node.description ?? '');
  const told = node.description === undefined ? '' : (match?.[1] ?? node.description);
  const fallback = required ? 'required' : (match?.[2] ?? shown(node.default));
  return { key, type: typeOf(node), fallback, meaning: told };
}

function shown(value: unknown): string {
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  return text === '{}' || text === '[]' ? '' : text;
}

function typeOf(node: SchemaNode): string {
  const plain = withoutReference(node);
  if (plain.anyOf !== undefined) return [...new Set(plain.anyOf.map(typeOf))].join(' or ');
  if (plain.enum !== undefined) return plain.enum.map((value) => `\`${String(value)}\``).join(' ');
  if (plain.const !== undefined) return `\`${JSON.stringify(plain.const)}\``;
  if (plain.items !== undefined) return isTree(plain) ? 'list' : `list of ${typeOf(plain.items)}`;
  if (plain.type === 'object') return 'map';
  if (plain.type === 'integer' || plain.type === 'number') return `${plain.type}${rangeOf(plain)}`;
  if (plain.pattern === DURATION.source) return 'duration';
  if (plain.pattern === SIZE.source) return 'size';
  return [plain.type ?? 'string']
    .flat()
    .map((type) => (type === 'string' ? 'text' : type))
    .join(' or ');
}

function rangeOf({ minimum, maximum }: SchemaNode): string {
  if (minimum === undefined && maximum === undefined) return '';
  return maximum === undefined ? ` from ${minimum}` : ` ${minimum ?? ''} to ${maximum}`;
}

/** A `${…}` reference is allowed in place of any value: it stands in the schema beside the narrow ones and is left out here. */
function withoutReference(node: SchemaNode): SchemaNode {
  const choices = node.anyOf?.filter((choice) => choice.description !== 'A reference.') ?? [];
  const [only] = choices;
  if (choices.length !== 1 || only === undefined) return node;
  const { anyOf: _, ...outer } = node;
  return { ...outer, ...only };
}
