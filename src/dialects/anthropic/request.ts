import type { ChatRequest } from '../../core/chat-request.ts';
import { GatewayError } from '../../core/error.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { isArray, own } from '../../core/json.ts';
import { conversationOf } from './conversation.ts';
import { checkFields } from './fields.ts';
import { arrayText, JsonSource, type JsonText, objectText, valueText } from './json-text.ts';
import { JSON_STEERING, outputConfig } from './output-config.ts';
import { invalid, unsupported } from './refuse.ts';
import { checkThinking } from './thinking.ts';
import { toolChoice, toolsOf } from './tools.ts';

/**
 * The body of `POST /messages`. Numbers, schemas, arguments of calls and thinking blocks keep the client's bytes. Throws
 * `GatewayError` (`unsupported_parameter`, `invalid_value`) with `param` for what cannot be carried.
 */
export function messagesBody(request: ChatRequest, deployment: Deployment): Buffer {
  if (request.endpoint !== 'chat') {
    throw new GatewayError('unsupported_parameter', 'This model answers chats only.', { param: 'model' });
  }
  checkFields(request);
  const { json } = request;
  const output = outputConfig(request);
  const { system, messages } = conversationOf(request);
  if (output.isJsonObject) system.push(objectText({ type: '"text"', text: valueText(JSON_STEERING) }));
  const tools = toolsOf(request);
  checkThinking(json);
  const body = objectText({
    model: valueText(deployment.upstreamModel),
    max_tokens: String(request.maxOutputTokens ?? deployment.profile.defaultMaxTokens),
    system: system.length === 0 ? null : arrayText(system),
    messages: arrayText(messages),
    stop_sequences: stopSequences(request),
    temperature: sameBytes(request, 'temperature'),
    top_p: sameBytes(request, 'top_p'),
    top_k: sameBytes(request, 'top_k'),
    tools: tools.length === 0 ? null : arrayText(tools),
    tool_choice: toolChoice(json, tools.length > 0),
    thinking: output.noThinking ? '{"type":"disabled"}' : sameBytes(request, 'thinking'),
    output_config: output.text,
    metadata: metadata(request),
    service_tier: serviceTier(request),
    stream: request.stream ? 'true' : null,
  });
  return Buffer.from(body);
}

function sameBytes({ json, raw, spans }: ChatRequest, name: string): JsonText | null {
  const span = spans.get(name);
  return own(json, name) === null || span === undefined ? null : new JsonSource(raw, span).text;
}

/** Entries of white space alone are refused there, so they are left out. */
function stopSequences({ json }: ChatRequest): JsonText | null {
  const stop = own(json, 'stop');
  const entries = (isArray(stop) ? stop : [stop]).filter((one) => typeof one === 'string' && one.trim() !== '');
  return entries.length === 0 ? null : valueText(entries);
}

/** Who the end user is: for both services an opaque id. */
function metadata({ json }: ChatRequest): JsonText | null {
  for (const name of ['safety_identifier', 'user']) {
    const id = own(json, name);
    if (id === null || id === '') continue;
    if (typeof id !== 'string') throw invalid(name, 'a string');
    return objectText({ user_id: valueText(id) });
  }
  return null;
}

function serviceTier({ json }: ChatRequest): JsonText | null {
  const tier = own(json, 'service_tier');
  if (tier === null || tier === 'auto') return null;
  if (tier === 'default') return '"standard_only"';
  throw unsupported('service_tier', 'it is auto or default');
}
