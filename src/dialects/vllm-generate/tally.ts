import type { ChatRequest } from '../../core/chat-request.ts';
import type { Usage } from '../../core/usage.ts';
import type { ToldUsage } from './reading.ts';

/** What was seen of one choice. */
export interface SeenChoice {
  readonly text: string;
  /** Times it grew in a stream; 0 for a whole answer. */
  readonly pieces: number;
}

interface TallyInput {
  readonly request: ChatRequest;
  readonly told: ToldUsage | null;
  readonly choices: readonly SeenChoice[];
  readonly estimateTokens: (text: string) => number;
}

/** The upstream's word where it told both counts, else an estimate that keeps what it did tell. */
export function tally({ request, told, choices, estimateTokens }: TallyInput): Usage {
  const prompt = told?.prompt ?? request.promptTokens;
  const completion = told?.completion ?? choices.reduce((sum, choice) => sum + choiceTokens(choice, estimateTokens), 0);
  const isTold = told !== null && told.prompt !== null && told.completion !== null;
  return { prompt, cached: 0, completion, reasoning: 0, source: isTold ? 'upstream' : 'estimate' };
}

/**
 * Tokens of one choice. A stream grows by one token at a time, so its growths are the best count there is, unless the
 * server batches: then the text itself says much more.
 */
export function choiceTokens({ text, pieces }: SeenChoice, estimateTokens: (text: string) => number): number {
  const estimate = text === '' ? 0 : estimateTokens(text);
  return pieces > 0 && estimate <= 2 * pieces ? pieces : estimate;
}

/** For servers that tell no finish reason: the bound was reached, or the model stopped by itself. */
export function guessFinish(tokens: number, maxTokens: number): 'length' | 'stop' {
  return tokens >= maxTokens ? 'length' : 'stop';
}
