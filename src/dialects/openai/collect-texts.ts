import type { TextPart } from '../../core/chat-request.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import type { LongString } from '../../lib/json-span/long-string.ts';
import type { LongStrings } from '../../lib/json-span/long-strings.ts';
import { LongText } from './long-text.ts';

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
/** Members of a message that point to a picture, a sound or a film; anywhere else a model reads a `data:` URL as the text it is. */
const POINTERS: ReadonlySet<string> = new Set([
  'url',
  'image',
  'images',
  'image_url',
  'input_image',
  'audio_url',
  'input_audio',
  'video_url',
  'file_url',
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
 * part types and members that are not known yet is seen as well; in definitions the keys count too (names of arguments). The long
 * strings are not in their places yet.
 */
export function chatTexts(json: JsonObject, long: LongStrings): TextPart[] {
  const out: TextPart[] = [];
  const messages = json['messages'] as readonly JsonObject[];
  messages.forEach((message, at) => {
    const role = typeof message['role'] === 'string' ? message['role'] : '';
    walk(message, `messages[${at}]`, undefined, { role, keys: false, points: false, long, out });
  });
  for (const key of DEFINITIONS) {
    walkMember(json, key, { role: 'tool', keys: true, points: false, long, out });
  }
  return out;
}

/** The texts of members like `prompt` or `input`: a string, or the strings of an array. */
export function plainTexts(json: JsonObject, long: LongStrings, keys: readonly string[]): TextPart[] {
  const out: TextPart[] = [];
  for (const key of keys) walkMember(json, key, { role: 'user', keys: false, points: false, long, out });
  return out;
}

interface Walk {
  readonly role: string;
  readonly keys: boolean;
  readonly long: LongStrings;
  readonly out: TextPart[];
  /** Is this what one of the `POINTERS` holds? */
  readonly points: boolean;
}

function walkMember(json: JsonObject, key: string, to: Walk): void {
  if (Object.hasOwn(json, key)) walk(json[key] ?? null, key, to.long.at(json, key), to);
}

/** Recursive: the body's depth is bounded before it is parsed. `long`: what the value really is, where it is a long string. */
function walk(value: Json, param: string, long: LongString | undefined, to: Walk): void {
  const { role, out } = to;
  if (long !== undefined) {
    if (!isInlineData(long.piece(0, INLINE_HEAD), to)) out.push(new LongText({ param, role, string: long }));
  } else if (typeof value === 'string') {
    if (value !== '' && !isInlineData(value, to)) out.push({ param, role, text: value });
  } else if (Array.isArray(value)) {
    (value as readonly Json[]).forEach((item, at) => {
      if (typeof item !== 'number') walk(item, `${param}[${at}]`, to.long.at(value, at), to);
    });
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (to.keys) out.push({ param: `${param}.${key}`, role, text: key });
      else if (NOT_TEXT.has(key)) continue;
      const points = !to.keys && POINTERS.has(key);
      walk(
        value[key] ?? null,
        `${param}.${key}`,
        to.long.at(value, key),
        points === to.points ? to : { ...to, points },
      );
    }
  }
}

/** How much of a text shows whether it is one; more than enough where some of it is escaped. */
const INLINE_HEAD = 128 * 6;

/** A picture or a sound in a `data:` URL, where one may stand. Looked at by its start alone: it may be megabytes. */
function isInlineData(text: string, { points }: Walk): boolean {
  return points && text.startsWith('data:') && text.slice(0, 128).includes(';base64,');
}
