import type { ChatRequest } from '../../core/chat-request.ts';
import { isArray, isObject, type Json, type JsonObject, own } from '../../core/json.ts';
import { cacheControl } from './cache-control.ts';
import { JsonSource, type JsonText, objectText, valueText, withMember } from './json-text.ts';
import { invalid, unsupported } from './refuse.ts';

const NO_ARGUMENTS: JsonText = '{"type":"object","properties":{}}';
const TOOL_MEMBERS: ReadonlySet<string> = new Set(['type', 'function', 'cache_control']);
const FUNCTION_MEMBERS: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict']);

/** The client's functions as tools; schemas keep their bytes. Throws `GatewayError`. */
export function toolsOf({ json, raw, spans }: ChatRequest): JsonText[] {
  const tools = own(json, 'tools');
  const span = spans.get('tools');
  if (!isArray(tools) || tools.length === 0 || span === undefined) return [];
  const sources = new JsonSource(raw, span).elements();
  return tools.map((tool, at) => toolText(tool, sources[at], `tools[${at}]`));
}

function toolText(tool: Json, source: JsonSource | undefined, param: string): JsonText {
  if (!isObject(tool)) throw invalid(param, 'an object');
  if (own(tool, 'type') !== 'function') throw unsupported(`${param}.type`, 'tools are functions here');
  refuseOthers(tool, TOOL_MEMBERS, param);
  const fn = own(tool, 'function');
  if (!isObject(fn)) throw invalid(`${param}.function`, 'an object');
  refuseOthers(fn, FUNCTION_MEMBERS, `${param}.function`);
  const name = own(fn, 'name');
  const description = own(fn, 'description');
  const strict = own(fn, 'strict');
  if (typeof name !== 'string' || name === '') throw invalid(`${param}.function.name`, 'a string');
  if (description !== null && typeof description !== 'string') {
    throw invalid(`${param}.function.description`, 'a string');
  }
  if (strict !== null && typeof strict !== 'boolean') throw invalid(`${param}.function.strict`, 'true or false');
  return objectText({
    name: valueText(name),
    description: description === null || description === '' ? null : valueText(description),
    input_schema: inputSchema(fn, source, `${param}.function.parameters`),
    strict: strict === true ? 'true' : null,
    cache_control: cacheControl(tool),
  });
}

/** `type: object` must stand in it there; OpenAI takes a schema without it. */
function inputSchema(fn: JsonObject, source: JsonSource | undefined, param: string): JsonText {
  const parameters = own(fn, 'parameters');
  if (parameters === null) return NO_ARGUMENTS;
  const text = source?.members().get('function')?.members().get('parameters')?.text;
  if (!isObject(parameters) || text === undefined) throw invalid(param, 'a JSON schema');
  return Object.hasOwn(parameters, 'type') ? text : withMember(text, 'type', '"object"');
}

/** `tool_choice` and `parallel_tool_calls` in one; null where they say nothing. Throws `GatewayError`. */
export function toolChoice(json: JsonObject, hasTools: boolean): JsonText | null {
  const asked = own(json, 'tool_choice');
  if (!hasTools) {
    if (asked === null || asked === 'none' || asked === 'auto') return null;
    throw invalid('tool_choice', 'left out without tools');
  }
  const isSingle = own(json, 'parallel_tool_calls') === false;
  if (asked === null && !isSingle) return null;
  if (asked === 'none') return '{"type":"none"}';
  return objectText({ ...choice(asked), disable_parallel_tool_use: isSingle ? 'true' : null });
}

function choice(asked: Json): Record<string, JsonText> {
  if (asked === null || asked === 'auto') return { type: '"auto"' };
  if (asked === 'required') return { type: '"any"' };
  const fn = isObject(asked) && own(asked, 'type') === 'function' ? own(asked, 'function') : null;
  const name = isObject(fn) ? own(fn, 'name') : null;
  if (typeof name !== 'string') throw unsupported('tool_choice', 'it is auto, none, required or one function');
  return { type: '"tool"', name: valueText(name) };
}

function refuseOthers(object: JsonObject, known: ReadonlySet<string>, param: string): void {
  for (const name of Object.keys(object)) {
    if (!known.has(name) && own(object, name) !== null) throw unsupported(`${param}.${name}`, 'it is not known here');
  }
}
