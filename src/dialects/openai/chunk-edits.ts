import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Edit } from '../../lib/json-span/apply-edits.ts';
import { elementSpans, findSpan, memberSpans } from '../../lib/json-span/find-span.ts';
import type { ToolCallIndexes } from './tool-call-indexes.ts';

/** What clients need changed in a chunk; nothing for most. Positions are looked up only where something changes. */
export function chunkEdits(data: Buffer, json: JsonObject, modelShown: string, calls: ToolCallIndexes): Edit[] {
  const edits = modelEdit(data, json, modelShown);
  if (!Array.isArray(json['choices'])) {
    // Required by OpenAI's schema; usage chunks and preambles of other servers leave it out or null.
    const span = memberSpans(data, whole(data)).get('choices');
    edits.push(
      span === undefined
        ? { kind: 'insert', object: whole(data), key: 'choices', json: Buffer.from('[]') }
        : { kind: 'replace', span, json: Buffer.from('[]') },
    );
    return edits;
  }
  (json['choices'] as readonly Json[]).forEach((choice, place) => {
    const delta = isObject(choice) ? choice['delta'] : null;
    const fragments = isObject(delta) ? delta['tool_calls'] : null;
    if (!isObject(choice) || !Array.isArray(fragments)) return;
    const index = Number.isSafeInteger(choice['index']) ? (choice['index'] as number) : place;
    (fragments as readonly Json[]).forEach((fragment, position) => {
      if (!isObject(fragment)) return;
      const shown = calls.assign(index, position, fragment);
      if (fragment['index'] !== shown) edits.push(...indexEdit(data, place, position, shown));
    });
  });
  return edits;
}

/** The answer's `model` as the client shall see it. */
export function modelEdit(data: Buffer, json: JsonObject, modelShown: string): Edit[] {
  if (typeof json['model'] !== 'string' || json['model'] === modelShown) return [];
  const span = memberSpans(data, whole(data)).get('model');
  return span === undefined ? [] : [{ kind: 'replace', span, json: Buffer.from(JSON.stringify(modelShown)) }];
}

function indexEdit(data: Buffer, choice: number, position: number, shown: number): Edit[] {
  const calls = findSpan(data, ['choices', choice, 'delta', 'tool_calls']);
  const call = calls === null ? undefined : elementSpans(data, calls)[position];
  if (call === undefined) return [];
  const span = memberSpans(data, call).get('index');
  const json = Buffer.from(String(shown));
  return [span === undefined ? { kind: 'insert', object: call, key: 'index', json } : { kind: 'replace', span, json }];
}

function whole(data: Buffer): { start: number; end: number } {
  // White space around the object is allowed; `insert` needs its closing brace.
  let { length: end } = data;
  while (end > 0 && data[end - 1] !== 0x7d) end -= 1;
  return { start: 0, end };
}
