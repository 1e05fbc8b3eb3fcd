import type { BackendDialect, ClientDialect, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import type { ResponseHead } from '../../core/http.ts';
import { AnswerDecoder } from './decode-answer.ts';
import { StreamDecoder } from './decode-stream.ts';
import { cutShort, StreamEncoder } from './encode-stream.ts';
import { AnswerEncoder } from './encode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { parseRequest } from './parse-request.ts';
import { RefusedAnswer } from './refused-answer.ts';

/** OpenAI's API towards clients: chat completions, completions and embeddings. */
export function createOpenAiClient(): ClientDialect {
  return {
    name: 'openai',
    parse: parseRequest,
    encoder: (context) => (context.stream ? new StreamEncoder(context) : new AnswerEncoder()),
    error: (error) => Buffer.from(JSON.stringify(error)),
    cutShort: (encoder, usage = null) => (encoder instanceof StreamEncoder ? cutShort(encoder, usage) : []),
  };
}

/** OpenAI's API towards model services that speak it: OpenAI, vLLM's OpenAI server, Ollama, llama.cpp and others. */
export function createOpenAiBackend(): BackendDialect {
  return { name: 'openai', encode: encodeRequest, decoder };
}

function decoder(head: ResponseHead, context: DecodeContext): ResponseDecoder {
  const coding = head.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity')
    return new RefusedAnswer(head, 'The model service sent a coded answer unasked.');
  const type = (head.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const events = type === 'text/event-stream';
  if (head.status < 200 || head.status >= 300) return new AnswerDecoder(head, context);
  if (!context.request.stream) {
    return events
      ? new RefusedAnswer(head, 'The model service sent a stream that nobody asked for.')
      : new AnswerDecoder(head, context);
  }
  // Some servers answer a stream request with a whole answer, and some streams come without their type.
  if (type.endsWith('json') || type === 'text/html') return new AnswerDecoder(head, context);
  return new StreamDecoder(context);
}
