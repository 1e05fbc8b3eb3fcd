import type { DecodeContext } from '../../core/dialect.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Edit } from '../../lib/json-span/apply-edits.ts';
import { elementSpans, findSpan, memberSpans } from '../../lib/json-span/find-span.ts';
import { modelEdit } from './chunk-edits.ts';

/** What clients need changed in a whole answer; nothing for most. */
export function answerEdits(body: Buffer, json: JsonObject, context: DecodeContext): Edit[] {
  const edits = modelEdit(body, json, context.modelShown);
  if (context.request.endpoint === 'embeddings') {
    if (context.request.json['encoding_format'] === 'base64') edits.push(...base64Edits(body, json));
  } else edits.push(...emptyArgumentsEdits(body, json));
  return edits;
}

/** Floats in answer to a base64 request: the client would decode them to garbage (32-bit floats, little-endian). */
function base64Edits(body: Buffer, json: JsonObject): Edit[] {
  const items = json['data'] as readonly Json[];
  if (!items.some((item) => isObject(item) && Array.isArray(item['embedding']))) return [];
  const list = findSpan(body, ['data']);
  const spans = list === null ? [] : elementSpans(body, list);
  return items.flatMap((item, at): Edit[] => {
    const span = spans[at];
    const floats = isObject(item) ? item['embedding'] : null;
    if (span === undefined || !Array.isArray(floats)) return [];
    const target = memberSpans(body, span).get('embedding');
    const packed = Buffer.alloc(floats.length * 4);
    floats.forEach((value, place) => packed.writeFloatLE(Number(value), place * 4));
    return target === undefined
      ? []
      : [{ kind: 'replace', span: target, json: Buffer.from(JSON.stringify(packed.toString('base64'))) }];
  });
}

/** A call without arguments has `""`, which is no JSON; a call that was cut off keeps what it has. */
function emptyArgumentsEdits(body: Buffer, json: JsonObject): Edit[] {
  return (json['choices'] as readonly Json[]).flatMap((choice, at) => {
    if (!isObject(choice) || choice['finish_reason'] === 'length' || !isObject(choice['message'])) return [];
    const calls = choice['message']['tool_calls'];
    if (!Array.isArray(calls)) return [];
    return (calls as readonly Json[]).flatMap((call, place): Edit[] => {
      const fn = isObject(call) ? call['function'] : null;
      if (!isObject(fn) || fn['arguments'] !== '') return [];
      const span = findSpan(body, ['choices', at, 'message', 'tool_calls', place, 'function', 'arguments']);
      return span === null ? [] : [{ kind: 'replace', span, json: Buffer.from('"{}"') }];
    });
  });
}
