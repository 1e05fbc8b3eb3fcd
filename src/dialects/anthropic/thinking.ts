import { isArray, isObject, type JsonObject, own } from '../../core/json.ts';
import { unsupported } from './refuse.ts';

/**
 * Thinking with a budget needs the signed blocks of the tool round that is going on: without them the service refuses the
 * whole conversation. Throws `GatewayError` when the client asks for it and has sent none.
 */
export function checkThinking(json: JsonObject): void {
  const thinking = own(json, 'thinking');
  const messages = own(json, 'messages');
  if (!isObject(thinking) || own(thinking, 'type') !== 'enabled' || !isArray(messages)) return;
  for (const message of messages.toReversed()) {
    if (!isObject(message) || own(message, 'role') === 'user') return;
    const blocks = own(message, 'thinking_blocks');
    const calls = own(message, 'tool_calls');
    if (own(message, 'role') !== 'assistant' || !isArray(calls) || calls.length === 0) continue;
    if (isArray(blocks) && blocks.length > 0) continue;
    throw unsupported('thinking', 'the messages of this tool round lack their thinking_blocks');
  }
}
