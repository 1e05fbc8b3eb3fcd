import type { ChatRequest } from '../../core/chat-request.ts';
import { type JsonObject, own } from '../../core/json.ts';
import { empty, type Neutral, only, textOnly, usageOnly } from '../neutral-values.ts';
import { unsupported } from './refuse.ts';

/** Fields with a translation of their own. `thinking`, `top_k` and `output_config` are Anthropic's, for clients that know them. */
const TRANSLATED: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'stream',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'output_config',
  'thinking',
  'user',
  'safety_identifier',
  'service_tier',
]);

/** Fields that say nothing about the answer: accepted with any value. */
const HARMLESS: ReadonlySet<string> = new Set(['metadata', 'prompt_cache_key', 'prompt_cache_retention']);

/** Fields of OpenAI's API that have no place here, and the values that ask for nothing. `null` always does. */
const NEUTRAL: Readonly<Record<string, Neutral>> = {
  n: only(1),
  logprobs: only(false),
  top_logprobs: only(0),
  logit_bias: empty,
  presence_penalty: only(0),
  frequency_penalty: only(0),
  functions: empty,
  function_call: only('none'),
  modalities: textOnly,
  verbosity: only('medium'),
  store: only(false),
  stream_options: usageOnly,
};

/** Throws `GatewayError` (`unsupported_parameter`) for every field that cannot be carried: nothing is dropped. */
export function checkFields({ json }: ChatRequest): void {
  for (const name of Object.keys(json)) {
    const value = own(json, name);
    if (value === null || TRANSLATED.has(name) || HARMLESS.has(name)) continue;
    const isNeutral = Object.hasOwn(NEUTRAL, name) ? NEUTRAL[name] : undefined;
    if (isNeutral?.(value) === true) continue;
    throw unsupported(name, 'the model service has no place for it');
  }
  checkRange(json, 'temperature');
  checkRange(json, 'top_p');
}

/** OpenAI's temperature goes up to 2, Anthropic's to 1. Another one would be another answer, so none is put in its place. */
function checkRange(json: JsonObject, name: string): void {
  const value = own(json, name);
  if (value === null) return;
  if (typeof value !== 'number' || value < 0 || value > 1) throw unsupported(name, 'it takes numbers from 0 to 1');
}
