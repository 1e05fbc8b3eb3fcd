import { z } from 'zod';
import { documentSchema } from './schema/document.ts';

type SchemaNode = { [key: string]: unknown };

const REFERENCE = { type: 'string', pattern: String.raw`\$\{(env|file):[^}]+\}`, description: 'A reference.' } as const;

/** Where a `${…}` reference would break the rule of the plain value, the reference is allowed beside it. */
const NARROW = ['pattern', 'enum', 'format'] as const;

/** The published JSON Schema of tokenlat.yaml (draft 7, which editors understand), as text. */
export function renderJsonSchema(): string {
  const schema = z.toJSONSchema(documentSchema, { io: 'input', target: 'draft-7' }) as SchemaNode;
  return `${JSON.stringify(loosen(schema, []), null, 2)}\n`;
}

function loosen(node: unknown, path: readonly string[]): unknown {
  if (Array.isArray(node)) return node.map((item) => loosen(item, path));
  if (typeof node !== 'object' || node === null) return node;
  const schema = node as SchemaNode;
  const inside: SchemaNode = {};
  for (const [key, value] of Object.entries(schema)) {
    const data =
      ['default', 'examples', 'const', 'enum', 'required', 'propertyNames'].includes(key) &&
      path.at(-1) !== 'properties';
    inside[key] = data ? value : loosen(value, [...path, key]);
  }
  if (path.at(-1) === 'properties') return inside;
  if (inside['maximum'] === Number.MAX_SAFE_INTEGER) delete inside['maximum'];
  const scalar = inside['type'] === 'integer' || inside['type'] === 'number' || inside['type'] === 'boolean';
  const narrow = inside['type'] === 'string' && NARROW.some((key) => key in inside);
  if (!scalar && !narrow) return inside;
  const { description, default: fallback, examples, ...rule } = inside;
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(examples === undefined ? {} : { examples }),
    anyOf: [rule, REFERENCE],
  };
}
