/**
 * Which columns of a bill hold what. Of `date`, `model` and `currency` the first column that is there counts; of tokens and
 * cost all that are there are added. Names are compared without regard to case.
 */
export interface BillMapping {
  readonly date: readonly string[];
  readonly model: readonly string[];
  /** All prompt tokens, cached ones included. */
  readonly inputTokens: readonly string[];
  /** Of those, the ones that were read from a cache. */
  readonly cachedTokens: readonly string[];
  readonly outputTokens: readonly string[];
  /** None there: tokens only are compared. */
  readonly cost: readonly string[];
  /** None there: the currency of the options. */
  readonly currency: readonly string[];
  /** Default: what parts the names of the columns. */
  readonly separator?: string;
}

export type BillMappingName = 'generic' | 'openai' | 'anthropic';

/** Exports whose columns are known. A mapping of one's own can be laid over one of them. */
export const BILL_MAPPINGS: Readonly<Record<BillMappingName, BillMapping>> = {
  generic: {
    date: ['date'],
    model: ['model'],
    inputTokens: ['input_tokens'],
    cachedTokens: ['cached_tokens'],
    outputTokens: ['output_tokens'],
    cost: ['cost'],
    currency: ['currency'],
  },
  // Completions usage export of the dashboard; its input includes what was cached.
  openai: {
    date: ['start_time_iso', 'start_time', 'date'],
    model: ['model'],
    inputTokens: ['input_tokens'],
    cachedTokens: ['input_cached_tokens'],
    outputTokens: ['output_tokens'],
    cost: ['amount_value', 'cost'],
    currency: ['amount_currency', 'currency'],
  },
  // Usage export of the console and the usage report of the Admin API; their input is split by cache.
  anthropic: {
    date: ['usage_date_utc', 'starting_at', 'date'],
    model: ['model_version', 'model'],
    inputTokens: [
      'usage_input_tokens_no_cache',
      'usage_input_tokens_cache_write_5m',
      'usage_input_tokens_cache_write_1h',
      'usage_input_tokens_cache_read',
      'uncached_input_tokens',
      'cache_creation.ephemeral_5m_input_tokens',
      'cache_creation.ephemeral_1h_input_tokens',
      'cache_read_input_tokens',
    ],
    cachedTokens: ['usage_input_tokens_cache_read', 'cache_read_input_tokens'],
    outputTokens: ['usage_output_tokens', 'output_tokens'],
    cost: ['cost_usd', 'cost'],
    currency: ['currency'],
  },
};
