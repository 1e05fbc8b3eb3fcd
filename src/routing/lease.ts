import type { Ask } from './target.ts';

/** One try under way at a target, from the pick to its outcome. Times are milliseconds of one monotonic clock. */
export class Lease {
  /** When the target got it; null = it was merely decided on so far. */
  startedAt: number | null = null;
  readonly promptTokens: number;
  outputTokens: number;
  readonly kind: string;
  readonly stream: boolean;
  /** When it counts as forgotten. */
  expiresAt: number;
  /** When the first piece of the answer came; null = not yet. */
  firstAt: number | null = null;
  isOver = false;

  constructor(ask: Work, expiresAt: number) {
    this.promptTokens = ask.promptTokens;
    this.outputTokens = ask.outputTokens;
    this.kind = ask.kind;
    this.stream = ask.stream;
    this.expiresAt = expiresAt;
  }
}

/** What there is to do. */
export type Work = Pick<Ask, 'promptTokens' | 'outputTokens' | 'kind' | 'stream'>;
