import { isArray, isObject, type Json, own } from '../../core/json.ts';
import { JsonError } from '../../lib/json-span/json-error.ts';
import { parseJson } from '../../lib/json-span/parse-json.ts';
import { type JsonText, objectText, valueText } from './json-text.ts';
import { invalid, unsupported } from './refuse.ts';

/** As deep as arguments may be: they are part of a body that may be this deep. */
const MAX_DEPTH = 512;
const CALL_MEMBERS: ReadonlySet<string> = new Set(['id', 'type', 'function', 'index']);

/** Calls of the past as blocks; `arguments` go in as they were written, so that no digit changes. Throws `GatewayError`. */
export function callBlocks(calls: Json, param: string): JsonText[] {
  if (calls === null) return [];
  if (!isArray(calls)) throw invalid(param, 'an array');
  return calls.map((call, at) => callBlock(call, `${param}[${at}]`));
}

function callBlock(call: Json, param: string): JsonText {
  if (!isObject(call)) throw invalid(param, 'an object');
  const type = own(call, 'type');
  if (type !== null && type !== 'function') throw unsupported(`${param}.type`, 'calls are of functions here');
  for (const name of Object.keys(call)) {
    if (!CALL_MEMBERS.has(name) && own(call, name) !== null)
      throw unsupported(`${param}.${name}`, 'it is not known here');
  }
  const id = own(call, 'id');
  const fn = own(call, 'function');
  if (typeof id !== 'string' || id === '') throw invalid(`${param}.id`, 'a string');
  if (!isObject(fn)) throw invalid(`${param}.function`, 'an object');
  const name = own(fn, 'name');
  if (typeof name !== 'string') throw invalid(`${param}.function.name`, 'a string');
  return objectText({
    type: '"tool_use"',
    id: valueText(toolUseId(id)),
    name: valueText(name),
    input: argumentsText(own(fn, 'arguments'), `${param}.function.arguments`),
  });
}

function argumentsText(value: Json, param: string): JsonText {
  if (value === null) return '{}';
  if (typeof value !== 'string') throw invalid(param, 'a string');
  const text = value.trim();
  if (text === '') return '{}';
  if (!isObject(parsed(text))) throw invalid(param, 'a JSON object, as text');
  return text;
}

function parsed(text: string): unknown {
  try {
    return parseJson(Buffer.from(text), { maxDepth: MAX_DEPTH, refuseDuplicates: false }).value;
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

/** Ids hold letters, digits, `_` and `-` there. Other servers' ids may hold more: each such character becomes its code. */
export function toolUseId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/gu, (char) => `_${(char.codePointAt(0) ?? 0).toString(16)}`);
}
