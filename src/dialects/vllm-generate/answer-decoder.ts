import type { ChatEvent, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import { GrowingBuffer } from '../../lib/sse/growing-buffer.ts';
import { type Choice, answer } from './openai-json.ts';
import { readRecord } from './reading.ts';
import { type GenerateDecoderInput, echoBytes } from './stream-decoder.ts';
import { choiceTokens, guessFinish, tally } from './tally.ts';
import { statusError } from './upstream-error.ts';

/** As much of an error's body as is worth reading. */
const MAX_ERROR_BODY = 65_536;

const CLEAN_END: ChatEvent = { kind: 'end', clean: true };

/** Decodes a whole JSON answer. */
export function createAnswerDecoder(input: GenerateDecoderInput): ResponseDecoder {
  const body = new GrowingBuffer();
  const maxBytes = input.context.maxAnswerBytes + echoBytes(input);
  let over = false;

  const fail = (error: GatewayError): ChatEvent[] => {
    over = true;
    return [{ kind: 'error', error, usage: null }];
  };
  return {
    push: (chunk) => {
      if (over) return [];
      if (body.length + chunk.length > maxBytes) {
        return fail(new GatewayError('upstream_response_too_large', 'The answer is too large.'));
      }
      body.append(chunk, 0, chunk.length);
      return [];
    },
    end: () => {
      if (over) return [];
      over = true;
      try {
        return [decode(body.take(), input), CLEAN_END];
      } catch (error) {
        return fail(GatewayError.from(error));
      }
    },
  };
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
  const body = new GrowingBuffer();
  let over = false;
  return {
    push: (chunk) => {
      const room = Math.min(chunk.length, MAX_ERROR_BODY - body.length);
      if (room > 0) body.append(chunk, 0, room);
      return [];
    },
    end: () => {
      if (over) return [];
      over = true;
      return [{ kind: 'error', error: statusError(head, body.take()), usage: null }];
    },
  };
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
