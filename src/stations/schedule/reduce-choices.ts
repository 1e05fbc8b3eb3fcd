import type { ChatRequest } from '../../core/chat-request.ts';
import type { Json } from '../../core/json.ts';

/** `best_of` choices are made, and paid for, though fewer are shown. */
const COUNTS = ['n', 'best_of'];
const SPACE = 0x20;

/**
 * The same request for at most `to` choices (at least 1, fewer than it asks for). Its bytes are a copy in which only the
 * digits differ; spaces fill what became shorter, so that every span holds.
 */
export function reduceChoices(request: ChatRequest, to: number): ChatRequest {
  const raw = Buffer.from(request.raw);
  const json: Record<string, Json> = { ...request.json };
  const digits = String(to);
  for (const name of COUNTS) {
    const value = Object.hasOwn(json, name) ? json[name] : null;
    const span = request.spans.get(name);
    if (typeof value !== 'number' || value <= to || span === undefined) continue;
    json[name] = to;
    raw.fill(SPACE, span.start, span.end);
    raw.write(digits, span.start, 'latin1');
  }
  return { ...request, raw, json, n: to };
}
