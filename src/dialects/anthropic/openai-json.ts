import type { ChatEvent, ChunkFacts, DecodeContext } from '../../core/dialect.ts';
import { totalTokens, type Usage } from '../../core/usage.ts';
import { arrayText, type JsonText, objectText, valueText } from './json-text.ts';

/** Facts of a chunk without output. */
export const NO_OUTPUT: ChunkFacts = {
  content: false,
  outputChars: 0,
  finishReason: null,
  usage: null,
  usageOnly: false,
};

/** A chunk with one piece of the only choice. */
export function deltaChunk(context: DecodeContext, delta: JsonText, facts: ChunkFacts): ChatEvent {
  const choice = objectText({
    index: '0',
    delta,
    logprobs: 'null',
    finish_reason: valueText(facts.finishReason),
  });
  return { kind: 'chunk', data: frame(context, 'chat.completion.chunk', arrayText([choice]), null), facts };
}

/** The last chunk: usage and no choice. */
export function usageChunk(context: DecodeContext, usage: Usage, flag: string | null): ChatEvent {
  const facts = { ...NO_OUTPUT, usage, usageOnly: true, ...(flag === null ? {} : { usageFlag: flag }) };
  return { kind: 'chunk', data: frame(context, 'chat.completion.chunk', '[]', usage), facts };
}

/** A whole answer. */
export function answer(context: DecodeContext, message: JsonText, facts: ChunkFacts): ChatEvent {
  const choice = objectText({
    index: '0',
    message,
    logprobs: 'null',
    finish_reason: valueText(facts.finishReason),
  });
  return { kind: 'answer', data: frame(context, 'chat.completion', arrayText([choice]), facts.usage), facts };
}

/** One call of a function, whole or a piece of it; `index` stands in streams alone. */
export function callText(call: {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments: string;
}): JsonText {
  return objectText({
    index: call.index === undefined ? null : String(call.index),
    id: call.id === undefined ? null : valueText(call.id),
    type: call.id === undefined ? null : '"function"',
    function: objectText({
      name: call.name === undefined ? null : valueText(call.name),
      arguments: valueText(call.arguments),
    }),
  });
}

function frame(context: DecodeContext, object: string, choices: JsonText, usage: Usage | null): Buffer {
  return Buffer.from(
    objectText({
      id: valueText(context.answerId),
      object: valueText(object),
      created: String(context.created),
      model: valueText(context.modelShown),
      choices,
      usage: usage === null ? null : usageText(usage),
    }),
  );
}

function usageText(usage: Usage): JsonText {
  return valueText({
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: totalTokens(usage),
    prompt_tokens_details: { cached_tokens: usage.cached },
  });
}
