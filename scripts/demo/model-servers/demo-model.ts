/** A word with the space before it: what the demo model counts as one token. */
const TOKEN = /\s*\S+/g;
const MAX_COUNT = 10_000;

/** One choice, as the demo model generated it. */
export interface DemoReply {
  readonly tokens: readonly string[];
  readonly finishReason: 'stop' | 'length';
}

export interface DemoReplyInput {
  /** What to answer. */
  readonly text: string;
  readonly index: number;
  readonly maxTokens: number | null;
  readonly stop: readonly string[];
  /** Answer in JSON: of this schema, or `{}` for any. Null = in words. */
  readonly schema: unknown;
}

export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/**
 * The demo model: it echoes, or counts when asked to `count to N`. The same input gives the same answer. No more tokens than
 * `maxTokens`, and nothing from the first stop string on.
 */
export function demoReply({ text, index, maxTokens, stop, schema }: DemoReplyInput): DemoReply {
  const all = tokensOf(schema === null ? spoken(text, index) : JSON.stringify(sample(schema, text), null, 1));
  const kept = maxTokens === null ? all : all.slice(0, maxTokens);
  const whole = kept.join('');
  const ends = stop.map((one) => whole.indexOf(one)).filter((at) => at >= 0);
  if (ends.length > 0) return { tokens: tokensOf(whole.slice(0, Math.min(...ends))), finishReason: 'stop' };
  return { tokens: kept, finishReason: kept.length < all.length ? 'length' : 'stop' };
}

function spoken(text: string, index: number): string {
  const suffix = index === 0 ? '' : ` (choice ${index + 1})`;
  const count = /\bcount to (\d{1,5})\b/i.exec(text)?.[1];
  if (count === undefined) return `You said: ${text}${suffix}`;
  return Array.from({ length: Math.min(Number(count), MAX_COUNT) }, (_, at) => at + 1).join(' ') + suffix;
}

/** A value that fits the common parts of a JSON schema. */
export function sample(schema: unknown, text: string): unknown {
  if (typeof schema !== 'object' || schema === null) return { echo: text };
  const { type, properties, items, enum: values, const: constant } = schema as Record<string, unknown>;
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return text.slice(0, 200);
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return [sample(items, text)];
    default:
      if (typeof properties !== 'object' || properties === null) return { echo: text };
      return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, sample(value, text)]));
  }
}
