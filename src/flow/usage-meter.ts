import type { ChunkFacts } from '../core/dialect.ts';
import type { Usage } from '../core/usage.ts';

/** Characters a token, for output whose pieces are not tokens. A rough mean over English and code. */
const CHARS_PER_TOKEN = 4;
/** Pieces of at most this many characters on average are taken for one token each. */
const TOKEN_LIKE_CHARS = 10;

/** Scripts differ in characters a token by a factor of four, and short answers by more. */
const FAR = 4;
const FAR_SLACK = 50;

export interface MeteredUsage {
  readonly usage: Usage;
  readonly flag: string | null;
}

/** Adds up what an answer used: the upstream's own word where it is sound, else an estimate from what went by. */
export class UsageMeter {
  readonly #promptEstimate: number;
  #told: Usage | null = null;
  #flag: string | null = null;
  #pieces = 0;
  #chars = 0;
  /** Chunks with a finish reason so far. */
  finishes = 0;

  /** `promptEstimate`: our own count of the prompt's tokens. */
  constructor(promptEstimate: number) {
    this.#promptEstimate = promptEstimate;
  }

  add(facts: ChunkFacts): void {
    if (facts.usage !== null) this.#told = facts.usage;
    if (facts.usageFlag !== undefined) this.#flag = facts.usageFlag;
    if (facts.finishReason !== null) this.finishes += 1;
    if (facts.content) this.#pieces += 1;
    this.#chars += facts.outputChars;
  }

  told(usage: Usage): void {
    this.#told = usage;
  }

  /** The upstream's own word so far. */
  get toldUsage(): Usage | null {
    return this.#told;
  }

  get producedOutput(): boolean {
    return this.#pieces > 0;
  }

  /** For an answer that came to its end. Missing or odd usage is estimated and flagged, never zero. */
  complete(): MeteredUsage {
    const told = this.#told;
    // A server that counts nothing for what it said does not make it free; beside a counted prompt, a token more or less may.
    const uncounted = told?.prompt === 0 ? 0 : CHARS_PER_TOKEN;
    if (told !== null && told.completion === 0 && this.#chars > uncounted) {
      const estimate = this.#estimate();
      return { usage: { ...estimate, prompt: told.prompt === 0 ? estimate.prompt : told.prompt }, flag: 'zero_usage' };
    }
    if (told !== null) return { usage: told, flag: this.#flag ?? this.#doubt(told) };
    return { usage: this.#estimate(), flag: this.#flag ?? 'usage_missing' };
  }

  /** Usage far from what went by is booked as told, and marked for whoever checks the bills. */
  #doubt(told: Usage): string | null {
    const visible = told.completion - told.reasoning;
    const estimate = this.#estimate().completion;
    const tooMuch = visible > FAR * estimate + FAR_SLACK;
    return tooMuch || estimate > FAR * visible + FAR_SLACK ? 'implausible' : null;
  }

  /** For an answer that stopped short: what was told by then may be behind what was sent. */
  cut(): MeteredUsage {
    const estimate = this.#estimate();
    const told = this.#told;
    if (told === null) return { usage: estimate, flag: 'cut' };
    if (told.completion >= estimate.completion) return { usage: told, flag: null };
    return { usage: { ...told, completion: estimate.completion, source: 'estimate' }, flag: 'cut' };
  }

  #estimate(): Usage {
    const tokenLike = this.#pieces > 1 && this.#chars / this.#pieces <= TOKEN_LIKE_CHARS;
    const completion = tokenLike ? this.#pieces : Math.ceil(this.#chars / CHARS_PER_TOKEN);
    return { prompt: this.#promptEstimate, cached: 0, completion, reasoning: 0, source: 'estimate' };
  }
}
