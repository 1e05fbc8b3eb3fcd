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
