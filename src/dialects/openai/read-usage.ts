import type { Json } from '../../core/json.ts';
import type { Usage } from '../../core/usage.ts';
import { isRecord } from './is-record.ts';

/** Why a usage was not taken. */
export type UsageFlag = 'not_an_object' | 'odd_prompt' | 'odd_completion' | 'odd_details' | 'inconsistent';

export interface ReadUsage {
  readonly usage: Usage | null;
  readonly flag: UsageFlag | null;
}

const NONE: ReadUsage = { usage: null, flag: null };
const odd = (flag: UsageFlag): ReadUsage => ({ usage: null, flag });

/**
 * A usage object in OpenAI's names or in those of its newer endpoints (`input_tokens`). Counts that are no whole numbers
 * >= 0, or that contradict one another, are not repaired: the answer is then estimated, and the flag says why. A detail
 * that is null counts as zero, because several servers write it so.
 */
export function readUsage(json: Json | undefined): ReadUsage {
  if (json === undefined || json === null) return NONE;
  if (!isRecord(json)) return odd('not_an_object');
  const prompt = json['prompt_tokens'] ?? json['input_tokens'];
  // Embeddings have no completion tokens and often no field for them; a null is something else.
  const completion = firstOwn(json, 'completion_tokens', 'output_tokens') ?? 0;
  if (!isCount(prompt)) return odd('odd_prompt');
  if (!isCount(completion) || json['completion_tokens'] === null) return odd('odd_completion');
  const cached =
    detail(json['prompt_tokens_details'] ?? json['input_tokens_details'], 'cached_tokens') ??
    json['prompt_cache_hit_tokens'] ??
    0;
  const reasoning = detail(json['completion_tokens_details'] ?? json['output_tokens_details'], 'reasoning_tokens') ?? 0;
  if (!isCount(cached) || !isCount(reasoning)) return odd('odd_details');
  return consistent(prompt, cached, completion, reasoning, json['total_tokens'] ?? null);
}

function consistent(prompt: number, cached: number, completion: number, reasoning: number, total: Json): ReadUsage {
  // Some servers count reasoning beside the completion; the total then tells.
  const beside = reasoning > 0 && total === prompt + completion + reasoning;
  const output = beside ? completion + reasoning : completion;
  const fits = total === null || total === prompt + output;
  if (!fits || cached > prompt || reasoning > output) return odd('inconsistent');
  return { usage: { prompt, cached, completion: output, reasoning, source: 'upstream' }, flag: null };
}

function firstOwn(json: { readonly [key: string]: Json }, ...names: readonly string[]): Json | undefined {
  for (const name of names) if (json[name] !== undefined && json[name] !== null) return json[name];
  return undefined;
}

function detail(details: Json | undefined, name: string): Json | undefined {
  return isRecord(details) ? details[name] : undefined;
}

function isCount(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
}
