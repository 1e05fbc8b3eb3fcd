import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { invalid, member, missing } from './check-fields.ts';

/** Throws unless `messages` has the shape of a conversation. Roles, part types and members that we do not know pass. */
export function checkMessages(json: JsonObject): void {
  const messages = member(json, 'messages');
  if (messages === undefined) throw missing('messages');
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages', 'a non-empty array');
  (messages as readonly Json[]).forEach((message, at) => checkMessage(message, `messages[${at}]`));
}

function checkMessage(message: Json, param: string): void {
  if (!isObject(message)) throw invalid(param, 'an object');
  const role = member(message, 'role');
  if (role === undefined) throw missing(`${param}.role`);
  if (typeof role !== 'string') throw invalid(`${param}.role`, 'a string');
  const content = member(message, 'content');
  if (Array.isArray(content)) {
    (content as readonly Json[]).forEach((part, at) => checkPart(part, `${param}.content[${at}]`));
  } else if (content !== undefined && typeof content !== 'string') {
    throw invalid(`${param}.content`, 'a string, an array or null');
  }
  const name = member(message, 'name');
  if (name !== undefined && typeof name !== 'string') throw invalid(`${param}.name`, 'a string');
  const calls = member(message, 'tool_calls');
  if (calls === undefined) return;
  if (!Array.isArray(calls)) throw invalid(`${param}.tool_calls`, 'an array');
  (calls as readonly Json[]).forEach((call, at) => checkCall(call, `${param}.tool_calls[${at}]`));
}

function checkPart(part: Json, param: string): void {
  if (typeof part === 'string') return;
  if (!isObject(part)) throw invalid(param, 'an object');
  const type = member(part, 'type');
  if (type !== undefined && typeof type !== 'string') throw invalid(`${param}.type`, 'a string');
  if (type === 'text' && typeof member(part, 'text') !== 'string') throw invalid(`${param}.text`, 'a string');
}

function checkCall(call: Json, param: string): void {
  if (!isObject(call)) throw invalid(param, 'an object');
  const fn = member(call, 'function');
  if (fn === undefined) return;
  if (!isObject(fn)) throw invalid(`${param}.function`, 'an object');
  for (const key of ['name', 'arguments']) {
    const value = member(fn, key);
    if (value !== undefined && typeof value !== 'string') throw invalid(`${param}.function.${key}`, 'a string');
  }
}
