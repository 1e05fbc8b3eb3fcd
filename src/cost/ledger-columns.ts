import type { LedgerEvent } from '../core/ledger-event.ts';
import type { LedgerEntry } from '../core/ports/quota-store.ts';

/** `integer` fits a double exactly, `real` is told to thousandths, `time` is Unix milliseconds. */
export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'time';
export type Cell = string | number | boolean | null;

export interface LedgerColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly of: (entry: LedgerEntry) => Cell;
}

/**
 * What an entry stands for. With the tenant, operation and attempt it names one booking: an operation books each of its tries
 * once, and what its lease booked when it ran out, and what took that back.
 */
export type EntryKind = 'event' | 'expiry' | 'reversal';

/** `expiry`: a lease that ran out books an estimate without a try; a request of our own answer has none, but used nothing. */
export function entryKind(event: LedgerEvent): EntryKind {
  const { promptTokens, completionTokens, cost } = event;
  if (promptTokens < 0 || completionTokens < 0 || cost < 0) return 'reversal';
  return event.attempt === 0 && event.estimated ? 'expiry' : 'event';
}

type Shape = readonly [name: string, type: ColumnType, nullable?: 'null'];

/** A field that is new in the event must be given a column here, or this does not compile. */
const FIELDS = {
  time: ['time', 'time'],
  tenant: ['tenant', 'text'],
  operation: ['operation', 'text'],
  attempt: ['attempt', 'integer'],
  chargedTo: ['charged_to', 'text'],
  status: ['status', 'text'],
  requestId: ['request_id', 'text'],
  subject: ['subject', 'text'],
  businessLine: ['business_line', 'text'],
  requestType: ['request_type', 'text'],
  route: ['route', 'text'],
  requestedModel: ['requested_model', 'text'],
  model: ['model', 'text'],
  backend: ['backend', 'text'],
  promptTokens: ['prompt_tokens', 'integer'],
  cachedTokens: ['cached_tokens', 'integer'],
  cacheWriteTokens: ['cache_write_tokens', 'integer'],
  cacheWriteLongTokens: ['cache_write_long_tokens', 'integer'],
  audioPromptTokens: ['audio_prompt_tokens', 'integer'],
  imagePromptTokens: ['image_prompt_tokens', 'integer'],
  completionTokens: ['completion_tokens', 'integer'],
  reasoningTokens: ['reasoning_tokens', 'integer'],
  audioCompletionTokens: ['audio_completion_tokens', 'integer'],
  imageCompletionTokens: ['image_completion_tokens', 'integer'],
  estimated: ['estimated', 'boolean'],
  usageFlag: ['usage_flag', 'text', 'null'],
  cost: ['cost_micro', 'integer'],
  currency: ['currency', 'text'],
  firstTokenMs: ['first_token_ms', 'real', 'null'],
  totalMs: ['total_ms', 'real'],
} as const satisfies Record<keyof LedgerEvent, Shape>;

/** Columns of every export and sink, in order. `cost_micro` is in millionths of `currency`. */
export const LEDGER_COLUMNS: readonly LedgerColumn[] = [
  { name: 'id', type: 'text', nullable: false, of: ({ id }) => id },
  { name: 'kind', type: 'text', nullable: false, of: ({ event }) => entryKind(event) },
  ...(Object.entries(FIELDS) as [keyof LedgerEvent, Shape][]).map(([field, [name, type, nullable]]) => ({
    name,
    type,
    nullable: nullable === 'null',
    of: ({ event }: LedgerEntry) => cell(event[field], type, nullable === 'null'),
  })),
];

/** What an older entry lacks is empty, 0 or false, and text is whole Unicode: a lone surrogate fits into no file. */
function cell(value: Cell | undefined, type: ColumnType, nullable: boolean): Cell {
  if (value === null || value === undefined) return nullable ? null : empty(type);
  if (type === 'real') return Math.round(Number(value) * 1000) / 1000;
  return typeof value === 'string' ? wellFormed(value) : value;
}

function empty(type: ColumnType): Cell {
  if (type === 'text') return '';
  return type === 'boolean' ? false : 0;
}

/** A lone surrogate becomes U+FFFD. */
function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? Buffer.from(text).toString() : text;
}
