import type { Usage } from '../../core/usage.ts';
import { isObject, type Json, own } from '../../core/json.ts';

/** Why a usage was not taken. */
export type UsageFlag = 'not_an_object' | 'odd_prompt' | 'odd_completion' | 'odd_details' | 'usage_missing';

const FIELDS = {
  input_tokens: 'odd_prompt',
  cache_read_input_tokens: 'odd_details',
  cache_creation_input_tokens: 'odd_details',
  ephemeral_1h_input_tokens: 'odd_details',
  output_tokens: 'odd_completion',
} as const satisfies Record<string, UsageFlag>;

type Field = keyof typeof FIELDS;

/** Stands in `cache_creation`, which splits `cache_creation_input_tokens` by how long the cache keeps. */
const LONG_WRITE: Field = 'ephemeral_1h_input_tokens';

const MAX_COUNT = 2 ** 31 - 1;
/** Characters a token, for an answer whose length nobody told. */
const CHARS_PER_TOKEN = 4;

/**
 * Counts of one answer, which come in several events: each is a total so far, so a later one replaces an earlier one. What an
 * event leaves out stays, and a zero never replaces a count: servers write it for what they do not know. Odd counts are
 * not taken; `flag` says so.
 */
export class UsageTally {
  readonly #counts = new Map<Field, number>();
  #flag: UsageFlag | null = null;

  /** What was wrong with what was told; null for nothing. */
  get flag(): UsageFlag | null {
    return this.#flag;
  }

  /** Takes a `usage` object; gives whether it told the output's length. */
  add(usage: Json): boolean {
    if (usage === null) return false;
    if (!isObject(usage)) {
      this.#flag ??= 'not_an_object';
      return false;
    }
    const created = own(usage, 'cache_creation');
    for (const name of Object.keys(FIELDS) as Field[]) {
      const value = name !== LONG_WRITE ? own(usage, name) : isObject(created) ? own(created, name) : null;
      this.#take(name, value);
    }
    return isCount(own(usage, 'output_tokens'));
  }

  #take(name: Field, value: Json): void {
    if (value === null) return;
    if (!isCount(value)) this.#flag ??= FIELDS[name];
    else if (value > 0 || !this.#counts.has(name)) this.#counts.set(name, value);
  }

  /** The counts so far in OpenAI's sense, where the cache is part of the prompt; null when the prompt or output is not known. */
  usage(): Usage | null {
    const input = this.#counts.get('input_tokens');
    const completion = this.#counts.get('output_tokens');
    if (input === undefined || completion === undefined || this.#flag !== null) return null;
    const cached = this.#counts.get('cache_read_input_tokens') ?? 0;
    const cacheWrite = this.#counts.get('cache_creation_input_tokens') ?? 0;
    const long = Math.min(cacheWrite, this.#counts.get(LONG_WRITE) ?? 0);
    return {
      prompt: input + cached + cacheWrite,
      cached,
      ...(cacheWrite > 0 ? { cacheWrite } : {}),
      ...(long > 0 ? { cacheWriteLong: long } : {}),
      completion,
      reasoning: 0,
      source: 'upstream',
    };
  }

  /** For an answer at whose end no length was told: what is known, and the output's length from its characters. */
  estimate(outputChars: number): Usage | null {
    const known = this.usage();
    if (known === null) return null;
    const completion = Math.max(known.completion, Math.ceil(outputChars / CHARS_PER_TOKEN));
    return { ...known, completion, source: 'estimate' };
  }
}

function isCount(value: Json): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_COUNT;
}
