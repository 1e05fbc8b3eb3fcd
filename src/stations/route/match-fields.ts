/** Fields of `request` in rules, with their CEL types. Texts that a request lacks are empty, numbers -1. */
export const REQUEST_FIELDS = {
  model: 'string',
  type: 'string',
  stream: 'bool',
  n: 'int',
  max_tokens: 'int',
  user: 'string',
  path: 'string',
  app_id: 'string',
  user_level: 'string',
  region: 'string',
  business_line: 'string',
  session_id: 'string',
  has_tools: 'bool',
  has_images: 'bool',
  prompt_tokens: 'int',
  last_message: 'string',
  messages_count: 'int',
  enable_rag: 'bool',
} as const;

/** Fields of `tenant`. `tokens_remaining_today` is -1 where no daily limit holds. */
export const TENANT_FIELDS = {
  name: 'string',
  tier: 'string',
  business_line: 'string',
  tokens_remaining_today: 'int',
} as const;

export type RequestField = keyof typeof REQUEST_FIELDS;
export type TenantField = keyof typeof TENANT_FIELDS;

/** Fields of `target`, a candidate, in rules of a score. What is not known is -1; `cost` is in units of the currency. */
export const TARGET_FIELDS = {
  id: 'string',
  model: 'string',
  backend: 'string',
  cost: 'double',
  quality: 'double',
  estimate_ms: 'double',
  first_token_ms: 'double',
  health: 'double',
  load: 'double',
  running: 'int',
  weight: 'double',
} as const;

/** Fields of `terms`, 0..1 each. */
export const TERM_FIELDS = { cost: 'double', latency: 'double', quality: 'double' } as const;
