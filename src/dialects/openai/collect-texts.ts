import type { TextPart } from '../../core/chat-request.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';

/** Members whose strings name or encode something and are not read as text. */
const NOT_TEXT: ReadonlySet<string> = new Set([
  'signature',
  'role',
  'type',
  'id',
  'tool_call_id',
  'data',
  'file_data',
  'file_id',
  'detail',
]);
/** Besides the conversation, what chat servers put before the model: definitions, schemas, documents, template values. */
const DEFINITIONS = [
  'tools',
  'functions',
  'response_format',
  'prediction',
  'documents',
  'chat_template',
  'chat_template_kwargs',
  'structured_outputs',
  'guided_json',
  'guided_choice',
] as const;

/**
 * Every text of a chat request that a model would read, with its place. Walks the whole of each message, so that text in
 * part types and members that are not known yet is seen as well; in definitions the keys count too (names of arguments).
 */
export function chatTexts(json: JsonObject): TextPart[] {
  const out: TextPart[] = [];
  const messages = json['messages'] as readonly JsonObject[];
  messages.forEach((message, at) => {
    const role = typeof message['role'] === 'string' ? message['role'] : '';
    walk(message, `messages[${at}]`, { role, keys: false, out });
  });
  for (const key of DEFINITIONS) {
    if (Object.hasOwn(json, key)) walk(json[key] ?? null, key, { role: 'tool', keys: true, out });
  }
  return out;
}

/** The texts of `prompt` or `input`: a string, or the strings of an array. */
export function plainTexts(json: JsonObject, ...keys: readonly string[]): TextPart[] {
  const out: TextPart[] = [];
  for (const key of keys)
    if (Object.hasOwn(json, key)) walk(json[key] ?? null, key, { role: 'user', keys: false, out });
  return out;
}

interface Walk {
  readonly role: string;
  readonly keys: boolean;
  readonly out: TextPart[];
}

/** Recursive: the body's depth is bounded before it is parsed. */
function walk(value: Json, param: string, to: Walk): void {
  if (typeof value === 'string') {
    if (value !== '' && !isInlineData(value)) to.out.push({ param, role: to.role, text: value });
  } else if (Array.isArray(value)) {
    (value as readonly Json[]).forEach((item, at) => {
      if (typeof item !== 'number') walk(item, `${param}[${at}]`, to);
    });
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (to.keys) to.out.push({ param: `${param}.${key}`, role: to.role, text: key });
      else if (NOT_TEXT.has(key)) continue;
      walk(value[key] ?? null, `${param}.${key}`, to);
    }
  }
}

/** A picture or a sound in a `data:` URL. Looked at by its start alone: it may be megabytes. */
function isInlineData(text: string): boolean {
  return text.startsWith('data:') && text.slice(0, 128).includes(';base64,');
}
