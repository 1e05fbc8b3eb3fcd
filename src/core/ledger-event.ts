import type { OperationId } from './ids.ts';
import type { MicroUnits } from './money.ts';
import type { Usage } from './usage.ts';

/** `tenant`: booked to the client's tenant. `gateway`: an attempt thrown away, our own cost. */
export type ChargedTo = 'tenant' | 'gateway';

export type LedgerStatus = 'complete' | 'client_aborted' | 'partial' | 'error';

/** One cost event. Written once with the settlement of its operation. */
export interface LedgerEvent {
  readonly operation: OperationId;
  /** The id that the client saw in `x-request-id`. */
  readonly requestId: string;
  /**
   * 1 for the first try. 0 where the request is booked as none of its tries: there was none (an answer of our own), or the last one
   * gave nothing and is the gateway's. So an operation books each number once.
   */
  readonly attempt: number;
  readonly chargedTo: ChargedTo;
  readonly status: LedgerStatus;
  readonly tenant: string;
  readonly subject: string;
  readonly businessLine: string;
  readonly requestType: string;
  readonly route: string;
  readonly requestedModel: string;
  readonly model: string;
  readonly backend: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  /** Parts of the prompt and of the completion as `Usage` has them; left out where 0. */
  readonly cacheWriteTokens?: number;
  readonly cacheWriteLongTokens?: number;
  readonly audioPromptTokens?: number;
  readonly imagePromptTokens?: number;
  readonly audioCompletionTokens?: number;
  readonly imageCompletionTokens?: number;
  /** True when the tokens are our estimate, not the upstream's word. */
  readonly estimated: boolean;
  /** Why the upstream's usage was not taken as it came, and what it said (bounded). */
  readonly usageFlag: string | null;
  readonly cost: MicroUnits;
  readonly currency: string;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
  /** Unix time in milliseconds, by our clock; the store adds its own. */
  readonly time: number;
}

/** The fields of an event that count tokens, and what each is called in `Usage`. */
export const TOKEN_FIELDS = {
  promptTokens: 'prompt',
  cachedTokens: 'cached',
  completionTokens: 'completion',
  reasoningTokens: 'reasoning',
  cacheWriteTokens: 'cacheWrite',
  cacheWriteLongTokens: 'cacheWriteLong',
  audioPromptTokens: 'audioPrompt',
  imagePromptTokens: 'imagePrompt',
  audioCompletionTokens: 'audioCompletion',
  imageCompletionTokens: 'imageCompletion',
} as const satisfies { readonly [field in keyof LedgerEvent]?: keyof Usage };

export type TokenField = keyof typeof TOKEN_FIELDS;

const ALWAYS = ['promptTokens', 'cachedTokens', 'completionTokens', 'reasoningTokens'] as const;
const MANDATORY: ReadonlySet<string> = new Set(ALWAYS);
const FIELDS = Object.keys(TOKEN_FIELDS) as readonly TokenField[];
type Always = (typeof ALWAYS)[number];

/** The tokens of `usage` under the names of an event; parts that are 0 are left out. */
export function ledgerTokens(usage: Usage): Pick<LedgerEvent, TokenField> {
  const tokens: Partial<Record<TokenField, number>> = {};
  for (const field of FIELDS) {
    const count = usage[TOKEN_FIELDS[field]] ?? 0;
    if (count !== 0 || MANDATORY.has(field)) tokens[field] = count;
  }
  return tokens as Pick<LedgerEvent, TokenField> & Record<Always, number>;
}
