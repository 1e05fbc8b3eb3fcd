import type { ChatRequest } from '../../core/chat-request.ts';
import { isObject, own } from '../../core/json.ts';
import { JsonSource, type JsonText, objectText, withMember } from './json-text.ts';
import { invalid, unsupported } from './refuse.ts';

/** Said to the model for `json_object`: there is no mode without a schema. */
export const JSON_STEERING =
  'Answer with one valid JSON object and nothing else: no explanation and no code fence before or after it.';

const EFFORTS: ReadonlySet<string> = new Set(['low', 'medium', 'high', 'xhigh', 'max']);
const FORMAT = 'response_format';

/** What the client asked of the form of the answer. */
export interface OutputConfig {
  /** The member `output_config`, or null. */
  readonly text: JsonText | null;
  /** Is the model to be told to write a JSON object? */
  readonly isJsonObject: boolean;
  /** `reasoning_effort: none`. */
  readonly noThinking: boolean;
}

/** `response_format` and `reasoning_effort` beside the client's own `output_config`. Throws `GatewayError`. */
export function outputConfig(request: ChatRequest): OutputConfig {
  const { json } = request;
  const members: Record<string, JsonText | null> = ownMembers(request);
  const effort = own(json, 'reasoning_effort');
  const noThinking = effort === 'none';
  if (noThinking) {
    if (own(json, 'thinking') !== null) throw unsupported('reasoning_effort', 'thinking says something else');
  } else if (effort !== null) {
    if (typeof effort !== 'string' || !EFFORTS.has(effort)) {
      throw unsupported('reasoning_effort', `it is none, ${[...EFFORTS].join(', ')}`);
    }
    add(members, 'effort', JSON.stringify(effort), 'reasoning_effort');
  }
  const format = own(json, FORMAT);
  const type = isObject(format) ? own(format, 'type') : null;
  if (format !== null && !isObject(format)) throw invalid(FORMAT, 'an object');
  if (type === 'json_schema') add(members, 'format', schemaFormat(request), FORMAT);
  else if (format !== null && type !== 'text' && type !== 'json_object') {
    throw unsupported(`${FORMAT}.type`, 'it is text, json_object or json_schema');
  }
  const text = Object.keys(members).length === 0 ? null : objectText(members);
  return { text, isJsonObject: type === 'json_object', noThinking };
}

function ownMembers({ json, raw, spans }: ChatRequest): Record<string, JsonText | null> {
  const value = own(json, 'output_config');
  const span = spans.get('output_config');
  if (value === null || span === undefined) return {};
  if (!isObject(value)) throw invalid('output_config', 'an object');
  return Object.fromEntries([...new JsonSource(raw, span).members()].map(([name, source]) => [name, source.text]));
}

function add(members: Record<string, JsonText | null>, name: string, text: JsonText, param: string): void {
  if (Object.hasOwn(members, name)) throw invalid(param, `left out when output_config has ${name}`);
  members[name] = text;
}

/** The schema with its bytes; the description that stood beside it goes into it, unless it has one. */
function schemaFormat({ json, raw, spans }: ChatRequest): JsonText {
  const param = `${FORMAT}.json_schema`;
  const format = own(json, FORMAT);
  const wrapper = isObject(format) ? own(format, 'json_schema') : null;
  const schema = isObject(wrapper) ? own(wrapper, 'schema') : null;
  const span = spans.get(FORMAT);
  const source =
    span === undefined ? undefined : new JsonSource(raw, span).members().get('json_schema')?.members().get('schema');
  if (!isObject(wrapper) || !isObject(schema) || source === undefined)
    throw invalid(`${param}.schema`, 'a JSON schema');
  const description = own(wrapper, 'description');
  if (description !== null && typeof description !== 'string') throw invalid(`${param}.description`, 'a string');
  const text =
    description === null || own(schema, 'description') !== null
      ? source.text
      : withMember(source.text, 'description', JSON.stringify(description));
  return objectText({ type: '"json_schema"', schema: text });
}
