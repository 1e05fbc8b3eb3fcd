import type { ChatEvent, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import type { ResponseHead } from '../../core/http.ts';
import { createErrorBodyDecoder, createWholeBodyDecoder } from '../whole-body.ts';
import { decodeMessage } from './decode-message.ts';
import { invalidAnswer, statusError } from './upstream-error.ts';

/** Decodes an answer that comes whole. */
export function createAnswerDecoder(context: DecodeContext): ResponseDecoder {
  const { maxAnswerBytes: maxBytes } = context;
  return createWholeBodyDecoder({
    maxBytes,
    tooLarge: `The model service's answer is longer than ${maxBytes} bytes.`,
    decode: (body) => decodeMessage(body, context),
  });
}

/** Decodes an answer whose status is not 2xx into one error. */
export function createErrorDecoder(head: ResponseHead): ResponseDecoder {
  return createErrorBodyDecoder(head, statusError);
}

/** Stands for an answer that is not read at all; the failure is told once, at the first sign of life. */
export function createRefusingDecoder(head: ResponseHead, message: string): ResponseDecoder {
  let over = false;
  const tell = (): readonly ChatEvent[] => {
    if (over) return [];
    over = true;
    const isGood = head.status >= 200 && head.status <= 299;
    // A status that says what is wrong is worth more than the coding that hides the details.
    const error = isGood ? invalidAnswer(message) : statusError(head, Buffer.alloc(0));
    return [{ kind: 'error', error, usage: null }];
  };
  return { push: tell, end: tell };
}
