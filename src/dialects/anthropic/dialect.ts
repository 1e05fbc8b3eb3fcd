import type { BackendDialect, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import type { ResponseHead } from '../../core/http.ts';
import { createAnswerDecoder, createErrorDecoder, createRefusingDecoder } from './decode-answer.ts';
import { StreamDecoder } from './decode-stream.ts';
import { readAnthropicOptions } from './options.ts';
import { messagesBody } from './request.ts';

const DEFAULT_BASE = '/v1';

/** `POST /messages`: Anthropic's Messages API and servers that speak it. Chats only; the key is the backend's `credentials`. */
export function createAnthropicBackend(): BackendDialect {
  return {
    name: 'anthropic',
    encode: (request, deployment) => {
      const { basePath, options } = deployment.backend;
      return {
        path: `${basePath === '' ? DEFAULT_BASE : ''}/messages`,
        headers: [
          ['content-type', 'application/json'],
          ['accept', request.stream ? 'text/event-stream' : 'application/json'],
          ['accept-encoding', 'identity'],
          ['anthropic-version', readAnthropicOptions(options).version],
        ],
        body: messagesBody(request, deployment),
      };
    },
    decoder,
  };
}

function decoder(head: ResponseHead, context: DecodeContext): ResponseDecoder {
  const coding = head.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity') {
    return createRefusingDecoder(head, 'The model service sent a coded answer unasked.');
  }
  if (head.status < 200 || head.status > 299) return createErrorDecoder(head);
  const type = head.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!context.request.stream) {
    return type === 'text/event-stream'
      ? createRefusingDecoder(head, 'The model service sent a stream that nobody asked for.')
      : createAnswerDecoder(context);
  }
  return type.endsWith('json') || type === 'text/html' ? createAnswerDecoder(context) : new StreamDecoder(context);
}
