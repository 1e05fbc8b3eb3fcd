import type { ChatRequest, Endpoint, Span } from '../../../src/core/chat-request.ts';
import type { DecodeContext } from '../../../src/core/dialect.ts';
import type { Json } from '../../../src/core/json.ts';
import { microUnits } from '../../../src/core/money.ts';
import type { Backend, Deployment } from '../../../src/core/snapshot.ts';

type JsonObject = { readonly [key: string]: Json };

/** A request as a client's dialect would hand it on. A value may be given as `{ raw: '1e400' }` to keep its bytes. */
export function chatRequest(fields: { readonly [key: string]: Json | { raw: string } }, endpoint: Endpoint = 'chat'): ChatRequest {
  const spans = new Map<string, Span>();
  let text = '{';
  for (const [name, value] of Object.entries(fields)) {
    text += `${text === '{' ? '' : ', '}${JSON.stringify(name)}: `;
    const start = Buffer.byteLength(text);
    text += isRaw(value) ? value.raw : JSON.stringify(value);
    spans.set(name, { start, end: Buffer.byteLength(text) });
  }
  const raw = Buffer.from(`${text}}`);
  const json = JSON.parse(raw.toString()) as JsonObject;
  const max = json['max_completion_tokens'] ?? json['max_tokens'];
  return {
    endpoint,
    raw,
    json,
    spans,
    model: typeof json['model'] === 'string' ? json['model'] : 'm',
    stream: json['stream'] === true,
    includeUsage: false,
    maxOutputTokens: typeof max === 'number' ? max : null,
    n: typeof json['n'] === 'number' ? json['n'] : 1,
    texts: [],
    promptTokens: 7,
  };
}

export function deployment({
  options = {},
  chatTemplate = 'chatml',
}: { options?: Backend['options']; chatTemplate?: string | null } = {}): Deployment {
  const free = microUnits(0);
  return {
    id: `m@b${JSON.stringify([options, chatTemplate])}`,
    model: 'm',
    backend: {
      name: 'b',
      dialect: 'vllm-generate',
      endpoints: [],
      basePath: '',
      tls: false,
      http2: false,
      health: null,
      credentials: [],
      headers: [],
      options,
    },
    upstreamModel: 'up',
    weight: 1,
    chatTemplate,
    price: { currency: 'USD', promptPerMtok: free, cachedPerMtok: free, completionPerMtok: free },
    profile: { p95Ms: null, firstTokenMs: null, tokenMs: null, quality: 1, qualityFor: new Map(), context: 4096, defaultMaxTokens: 256 },
    concurrency: null,
    costTier: 'economy',
  };
}

export function decodeContext(request: ChatRequest, over: Partial<DecodeContext> = {}): DecodeContext {
  return {
    request,
    deployment: deployment(),
    modelShown: 'shown',
    answerId: 'chatcmpl-1',
    created: 1700000000,
    maxEventBytes: 65_536,
    maxAnswerBytes: 65_536,
    ...over,
  };
}

function isRaw(value: Json | { raw: string }): value is { raw: string } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'raw' in value;
}
