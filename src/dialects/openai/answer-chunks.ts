import { isObject, type Json, type JsonObject } from '../../core/json.ts';

/** A whole answer as the chunks of a stream: for servers that answer a stream request with one. */
export function answerChunks(answer: Buffer, includeUsage: boolean): Buffer[] {
  const json: unknown = JSON.parse(answer.toString());
  if (!isObject(json)) return [answer];
  const { choices, usage, ...rest } = json;
  const frame: JsonObject = {
    ...rest,
    object: json['object'] === 'chat.completion' ? 'chat.completion.chunk' : (json['object'] ?? null),
  };
  const list = Array.isArray(choices) ? (choices as readonly Json[]).filter((choice) => isObject(choice)) : [];
  const chunks = list.map((choice) => Buffer.from(JSON.stringify({ ...frame, choices: [chunkChoice(choice)] })));
  if (includeUsage && isObject(usage)) chunks.push(Buffer.from(JSON.stringify({ ...frame, choices: [], usage })));
  return chunks;
}

function chunkChoice(choice: JsonObject): JsonObject {
  const { message, ...rest } = choice;
  if (!isObject(message)) return choice;
  const calls = message['tool_calls'];
  if (!Array.isArray(calls)) return { ...rest, delta: message };
  const numbered = (calls as readonly Json[]).map((call, index) => (isObject(call) ? { index, ...call } : call));
  return { ...rest, delta: { ...message, tool_calls: numbered } };
}
