import { empty, type Neutral, never, only, textOnly, usageOnly } from '../neutral-values.ts';

/** Sampling parameters of vLLM that go through under the same name, with the client's own bytes. */
export const CARRIED: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'seed',
  'stop',
  'stop_token_ids',
  'bad_words',
  'allowed_token_ids',
  'min_tokens',
  'ignore_eos',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'include_stop_str_in_output',
]);

/** Fields that say nothing about the answer: accepted with any value. */
export const HARMLESS: ReadonlySet<string> = new Set([
  'user',
  'metadata',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
]);

/**
 * Fields of OpenAI's API that this protocol has no place for, and the values that ask for nothing. `null` always does.
 * Any other value is refused, and so is any field that stands in no table: nothing is dropped.
 */
export const NEUTRAL: Readonly<Record<string, Neutral>> = {
  tools: empty,
  tool_choice: only('none'),
  parallel_tool_calls: never,
  functions: empty,
  function_call: only('none'),
  logprobs: only(false),
  top_logprobs: only(0),
  // Token ids become strings as JSON keys, and /generate does not turn them back.
  logit_bias: empty,
  modalities: textOnly,
  audio: never,
  prediction: never,
  reasoning_effort: never,
  verbosity: never,
  web_search_options: never,
  store: only(false),
  service_tier: only('auto', 'default'),
  stream_options: usageOnly,
  // completions
  echo: only(false),
  suffix: only(''),
  best_of: only(1),
};
