import type { ChatRequest } from './chat-request.ts';
import type { Surged } from './surge.ts';

interface Asked {
  readonly request: ChatRequest;
  readonly surge?: Surged | undefined;
}

/** Does the answer come piece by piece from the backend? */
export function streamsUpstream({ request, surge }: Asked): boolean {
  return request.stream && surge?.buffered !== true;
}

/** The request as backends are asked: for a whole answer where high load forbids streams. */
export function upstreamRequest(ctx: Asked): ChatRequest {
  return ctx.request.stream && !streamsUpstream(ctx) ? { ...ctx.request, stream: false } : ctx.request;
}
