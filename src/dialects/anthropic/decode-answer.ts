import type { ChatEvent, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import { GrowingBuffer } from '../../lib/sse/growing-buffer.ts';
import { decodeMessage } from './decode-message.ts';
import { invalidAnswer, statusError } from './upstream-error.ts';

/** As much of an error's body as is worth reading. */
const MAX_ERROR_BYTES = 65_536;

/** Decodes an answer that comes whole. */
export function createAnswerDecoder(context: DecodeContext): ResponseDecoder {
  const body = new GrowingBuffer();
  const { maxAnswerBytes } = context;
  let over = false;
  const fail = (error: GatewayError): ChatEvent[] => {
    over = true;
    return [{ kind: 'error', error, usage: null }];
  };
  return {
    push: (chunk) => {
      if (over) return [];
      if (body.length + chunk.length > maxAnswerBytes) {
        return fail(
          new GatewayError(
            'upstream_response_too_large',
            `The model service's answer is longer than ${maxAnswerBytes} bytes.`,
          ),
        );
      }
      body.append(chunk, 0, chunk.length);
      return [];
    },
    end: () => {
      if (over) return [];
      over = true;
      try {
        return [decodeMessage(body.take(), context), { kind: 'end', clean: true }];
      } catch (error) {
        return fail(GatewayError.from(error));
      }
    },
  };
}

/** Decodes an answer whose status is not 2xx into one error. */
export function createErrorDecoder(head: ResponseHead): ResponseDecoder {
  const body = new GrowingBuffer();
  let over = false;
  return {
    push: (chunk) => {
      const room = Math.min(chunk.length, MAX_ERROR_BYTES - body.length);
      if (!over && room > 0) body.append(chunk, 0, room);
      return [];
    },
    end: () => {
      if (over) return [];
      over = true;
      return [{ kind: 'error', error: statusError(head, body.take()), usage: null }];
    },
  };
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
