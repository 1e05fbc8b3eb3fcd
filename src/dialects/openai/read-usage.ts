import type { Usage } from '../../core/usage.ts';
import { isObject, type Json } from '../../core/json.ts';

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
  if (!isObject(json)) return odd('not_an_object');
  const prompt = json['prompt_tokens'] ?? json['input_tokens'];
  // Embeddings have no completion tokens and often no field for them; a null is something else.
  const completion = firstOwn(json, 'completion_tokens', 'output_tokens') ?? 0;
  if (!isCount(prompt)) return odd('odd_prompt');
  if (!isCount(completion) || json['completion_tokens'] === null) return odd('odd_completion');
  const promptDetails = json['prompt_tokens_details'] ?? json['input_tokens_details'];
  const completionDetails = json['completion_tokens_details'] ?? json['output_tokens_details'];
  const cached = detail(promptDetails, 'cached_tokens') ?? json['prompt_cache_hit_tokens'] ?? 0;
  const reasoning = detail(completionDetails, 'reasoning_tokens') ?? 0;
  const parts = readParts(promptDetails, completionDetails);
  if (!isCount(cached) || !isCount(reasoning) || parts === null) return odd('odd_details');
  return consistent(
    { prompt, cached, completion, reasoning, source: 'upstream', ...parts },
    json['total_tokens'] ?? null,
  );
}

function consistent(told: Usage, total: Json): ReadUsage {
  const { prompt, completion, reasoning } = told;
  // Some servers count reasoning beside the completion; the total then tells.
  const beside = reasoning > 0 && total === prompt + completion + reasoning;
  const output = beside ? completion + reasoning : completion;
  const fits = total === null || total === prompt + output;
  const inPrompt = [told.cached, told.cacheWrite, told.audioPrompt, told.imagePrompt];
  const inOutput = [reasoning, told.audioCompletion, told.imageCompletion];
  const within = (parts: readonly (number | undefined)[], whole: number) => parts.every((part) => (part ?? 0) <= whole);
  if (!fits || !within(inPrompt, prompt) || !within(inOutput, output)) return odd('inconsistent');
  return { usage: { ...told, completion: output }, flag: null };
}

type Part = 'cacheWrite' | 'audioPrompt' | 'imagePrompt' | 'audioCompletion' | 'imageCompletion';
/** Names of a cache's writes in OpenAI's form: OpenRouter's and LiteLLM's. */
const CACHE_WRITES = ['cache_write_tokens', 'cache_creation_tokens'];

/**
 * The parts that OpenAI's form has names for, where they are more than 0; null when one of them is odd. Of audio and images,
 * what came from the cache is counted there (`cached_tokens_details`), so that no token is in two parts.
 */
function readParts(prompt: Json | undefined, completion: Json | undefined): Partial<Record<Part, number>> | null {
  const fromCache = isObject(prompt) ? prompt['cached_tokens_details'] : undefined;
  const told: Record<Part, Json> = {
    cacheWrite: CACHE_WRITES.map((name) => detail(prompt, name) ?? 0).find((value) => value !== 0) ?? 0,
    audioPrompt: uncached(prompt, fromCache, 'audio_tokens'),
    imagePrompt: uncached(prompt, fromCache, 'image_tokens'),
    audioCompletion: detail(completion, 'audio_tokens') ?? 0,
    imageCompletion: detail(completion, 'image_tokens') ?? 0,
  };
  const parts: Partial<Record<Part, number>> = {};
  for (const [part, count] of Object.entries(told) as [Part, Json][]) {
    if (!isCount(count)) return null;
    if (count > 0) parts[part] = count;
  }
  return parts;
}

function uncached(details: Json | undefined, fromCache: Json | undefined, name: string): Json {
  const all = detail(details, name) ?? 0;
  const cached = detail(fromCache, name) ?? 0;
  // Something odd stays odd, for the caller to see.
  return isCount(all) && isCount(cached) ? all - cached : isCount(all) ? cached : all;
}

function firstOwn(json: { readonly [key: string]: Json }, ...names: readonly string[]): Json | undefined {
  for (const name of names) if (json[name] !== undefined && json[name] !== null) return json[name];
  return undefined;
}

function detail(details: Json | undefined, name: string): Json | undefined {
  return isObject(details) ? details[name] : undefined;
}

function isCount(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
}
