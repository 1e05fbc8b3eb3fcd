import { type JsonObject, own } from '../../core/json.ts';
import { type JsonText, valueText } from './json-text.ts';

/** Anthropic's mark for caching the prompt up to here, for clients that set it on a part or a tool. */
export function cacheControl(object: JsonObject): JsonText | null {
  const mark = own(object, 'cache_control');
  return mark === null ? null : valueText(mark);
}
