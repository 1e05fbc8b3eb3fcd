import type { ChatEvent, ResponseDecoder } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { ResponseHead } from '../core/http.ts';
import { GrowingBuffer } from '../lib/sse/growing-buffer.ts';

/** As much of an error's body as is worth reading. */
const MAX_ERROR_BYTES = 65_536;

const CLEAN_END: ChatEvent = { kind: 'end', clean: true };

export interface WholeBodyOptions {
  readonly maxBytes: number;
  /** What is said of a longer one. */
  readonly tooLarge: string;
  /** What it throws ends the answer. */
  readonly decode: (body: Buffer) => ChatEvent;
}

/** Gathers an answer that comes whole, and decodes it at its end. */
export function createWholeBodyDecoder({ maxBytes, tooLarge, decode }: WholeBodyOptions): ResponseDecoder {
  const body = new GrowingBuffer();
  let over = false;
  const fail = (error: GatewayError): ChatEvent[] => {
    over = true;
    return [{ kind: 'error', error, usage: null }];
  };
  return {
    push: (chunk) => {
      if (over) return [];
      if (body.length + chunk.length > maxBytes) return fail(new GatewayError('upstream_response_too_large', tooLarge));
      body.append(chunk, 0, chunk.length);
      return [];
    },
    end: () => {
      if (over) return [];
      over = true;
      try {
        return [decode(body.take()), CLEAN_END];
      } catch (error) {
        return fail(GatewayError.from(error));
      }
    },
  };
}

/** Decodes an answer whose status is not 2xx into one error: the one that `errorOf` makes of its head and body. */
export function createErrorBodyDecoder(
  head: ResponseHead,
  errorOf: (head: ResponseHead, body: Buffer) => GatewayError,
): ResponseDecoder {
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
      return [{ kind: 'error', error: errorOf(head, body.take()), usage: null }];
    },
  };
}
