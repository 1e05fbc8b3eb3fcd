import type { ChatEvent, ChunkFacts, DecodeContext } from '../../core/dialect.ts';
import type { Json } from '../../core/json.ts';
import { type Usage, totalTokens } from '../../core/usage.ts';

const NO_FACTS: ChunkFacts = { content: false, outputChars: 0, finishReason: null, usage: null, usageOnly: false };

/** A whole choice. */
export interface Choice {
  readonly text: string;
  readonly finishReason: string;
}

/** A chunk with text of one choice; `first` brings the role along. */
export function textChunk(context: DecodeContext, index: number, text: string, first: boolean): ChatEvent {
  const choice = isChat(context)
    ? { index, delta: { ...(first ? { role: 'assistant' } : {}), content: text }, logprobs: null, finish_reason: null }
    : { index, text, logprobs: null, finish_reason: null };
  return chunk(context, [choice], {}, { ...NO_FACTS, content: text !== '', outputChars: text.length });
}

/** The chunk that ends one choice. */
export function finishChunk(context: DecodeContext, index: number, finishReason: string): ChatEvent {
  const choice = isChat(context)
    ? { index, delta: {}, logprobs: null, finish_reason: finishReason }
    : { index, text: '', logprobs: null, finish_reason: finishReason };
  return chunk(context, [choice], {}, { ...NO_FACTS, finishReason });
}

/** The last chunk: usage and no choice. */
export function usageChunk(context: DecodeContext, usage: Usage): ChatEvent {
  return chunk(context, [], { usage: usageJson(usage) }, { ...NO_FACTS, usage, usageOnly: true });
}

/** A whole answer. */
export function answer(context: DecodeContext, choices: readonly Choice[], usage: Usage): ChatEvent {
  const list = choices.map(({ text, finishReason }, index) =>
    isChat(context)
      ? {
          index,
          message: { role: 'assistant', content: text, refusal: null },
          logprobs: null,
          finish_reason: finishReason,
        }
      : { index, text, logprobs: null, finish_reason: finishReason },
  );
  const object = isChat(context) ? 'chat.completion' : 'text_completion';
  const outputChars = choices.reduce((sum, { text }) => sum + text.length, 0);
  const finishReason = choices[0]?.finishReason ?? null;
  return {
    kind: 'answer',
    data: bytes(context, object, list, { usage: usageJson(usage) }),
    facts: { content: outputChars > 0, outputChars, finishReason, usage, usageOnly: false },
  };
}

function chunk(context: DecodeContext, choices: Json, extra: Record<string, Json>, facts: ChunkFacts): ChatEvent {
  const object = isChat(context) ? 'chat.completion.chunk' : 'text_completion';
  return { kind: 'chunk', data: bytes(context, object, choices, extra), facts };
}

function bytes(context: DecodeContext, object: string, choices: Json, extra: Record<string, Json>): Buffer {
  const { answerId: id, created, modelShown: model } = context;
  return Buffer.from(JSON.stringify({ id, object, created, model, choices, ...extra }));
}

function usageJson(usage: Usage): Json {
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: totalTokens(usage),
  };
}

function isChat({ request }: DecodeContext): boolean {
  return request.endpoint === 'chat';
}
