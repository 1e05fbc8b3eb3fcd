import type { ChatEvent, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import { createErrorBodyDecoder, createWholeBodyDecoder } from '../whole-body.ts';
import { type Choice, answer } from './openai-json.ts';
import { readRecord } from './reading.ts';
import { type GenerateDecoderInput, echoBytes } from './stream-decoder.ts';
import { choiceTokens, guessFinish, tally } from './tally.ts';
import { statusError } from './upstream-error.ts';

/** Decodes a whole JSON answer. */
export function createAnswerDecoder(input: GenerateDecoderInput): ResponseDecoder {
  return createWholeBodyDecoder({
    maxBytes: input.context.maxAnswerBytes + echoBytes(input),
    tooLarge: 'The answer is too large.',
    decode: (body) => decode(body, input),
  });
}

function decode(bytes: Buffer, { context, prompt, maxTokens, estimateTokens }: GenerateDecoderInput): ChatEvent {
  const { texts, repeatsPrompt, finish, usage: told } = readRecord(bytes);
  const { request } = context;
  if (texts.length !== request.n) {
    throw new GatewayError(
      'upstream_invalid_response',
      `The model service gave ${texts.length} choices where ${request.n} were asked for.`,
    );
  }
  const seen = texts.map((raw) => ({
    text: (repeatsPrompt && raw.startsWith(prompt) ? raw.slice(prompt.length) : raw).replace(
      /\p{Surrogate}/gu,
      '\ufffd',
    ),
    pieces: 0,
  }));
  const choices = seen.map((choice, index): Choice => {
    const tokens = seen.length === 1 && told?.completion ? told.completion : choiceTokens(choice, estimateTokens);
    return { text: choice.text, finishReason: finish[index] ?? guessFinish(tokens, maxTokens) };
  });
  return answer(context, choices, tally({ request, told, choices: seen, estimateTokens }));
}

/** Decodes an answer whose status is not 2xx into one error. */
export function createErrorDecoder(head: ResponseHead): ResponseDecoder {
  return createErrorBodyDecoder(head, statusError);
}

/** Stands for an answer with a content coding, which nobody asked for: what it says is not read. */
export function createCodedDecoder(head: ResponseHead): ResponseDecoder {
  let over = false;
  return {
    push: () => [],
    end: () => {
      if (over) return [];
      over = true;
      const isGood = head.status >= 200 && head.status <= 299;
      const error = isGood
        ? new GatewayError('upstream_invalid_response', 'The model service sent a coded answer unasked.')
        : statusError(head, Buffer.alloc(0));
      return [{ kind: 'error', error, usage: null }];
    },
  };
}
