import { isObject, type Json, type JsonObject } from '../../core/json.ts';

/** Members of a message or a delta whose text the model wrote. `reasoning` is what some servers call `reasoning_content`. */
export const TEXT_MEMBERS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;

/** What one choice of an answer or a chunk holds. */
export interface ChoiceOutput {
  readonly index: number;
  readonly outputChars: number;
  readonly finishReason: string | null;
  readonly toolCalls: readonly JsonObject[];
}

/** The choices of an answer or a chunk; none for what is no array. */
export function readChoices(json: JsonObject): readonly ChoiceOutput[] {
  const choices = json['choices'];
  if (!Array.isArray(choices)) return [];
  return (choices as readonly Json[]).map((choice, place) =>
    isObject(choice) ? readChoice(choice, place) : nothing(place),
  );
}

function readChoice(choice: JsonObject, place: number): ChoiceOutput {
  const index = choice['index'];
  const finish = choice['finish_reason'];
  const said = choice['delta'] ?? choice['message'];
  const output = isObject(said) ? said : {};
  const toolCalls = listOf(output['tool_calls']);
  let outputChars = lengthOf(choice['text']);
  for (const member of TEXT_MEMBERS) outputChars += lengthOf(output[member]);
  for (const call of [...toolCalls, ...listOf([output['function_call'] ?? null])]) outputChars += callChars(call);
  return {
    index: Number.isSafeInteger(index) && (index as number) >= 0 ? (index as number) : place,
    outputChars,
    finishReason: typeof finish === 'string' && finish !== '' ? finish : null,
    toolCalls,
  };
}

function callChars(call: JsonObject): number {
  const fn = isObject(call['function']) ? call['function'] : call;
  return lengthOf(fn['name']) + lengthOf(fn['arguments']);
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => isObject(item)) : [];
}

function lengthOf(value: Json | undefined): number {
  return typeof value === 'string' ? value.length : 0;
}

function nothing(index: number): ChoiceOutput {
  return { index, outputChars: 0, finishReason: null, toolCalls: [] };
}
