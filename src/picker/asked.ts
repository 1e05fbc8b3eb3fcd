import type { ChatRequest, Endpoint } from '../core/chat-request.ts';
import type { RequestHead } from '../core/http.ts';

/** Reads a client's body. Throws what is wrong with it. */
export type Parse = (head: RequestHead, body: Buffer) => ChatRequest;

/** What a request asks for, as far as it is known: a body that is not shown, or not understood, is for its server to judge. */
export function askedOf(head: RequestHead, body: Buffer | null, parse: Parse): ChatRequest {
  if (body !== null && body.length > 0) {
    try {
      return parse(head, body);
    } catch {
      // Falls through.
    }
  }
  return {
    endpoint: endpointOf(head.path),
    raw: Buffer.alloc(0),
    json: {},
    spans: new Map(),
    model: '',
    stream: false,
    includeUsage: false,
    maxOutputTokens: null,
    n: 1,
    texts: [],
    promptTokens: 0,
  };
}

function endpointOf(path: string): Endpoint {
  if (path.includes('/embeddings')) return 'embeddings';
  return path.includes('/completions') && !path.includes('/chat/') ? 'completions' : 'chat';
}
