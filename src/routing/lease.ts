import type { Ask } from './target.ts';

/** One try under way at a target, from the pick to its outcome. Times are milliseconds of one monotonic clock. */
export class Lease {
  /** When the try began; until it does, when it was decided on. */
  startedAt: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly kind: string;
  readonly stream: boolean;
  /** When it counts as forgotten. */
  expiresAt: number;
  /** When the first piece of the answer came; null = not yet. */
  firstAt: number | null = null;
  isOver = false;

  constructor(ask: Work, startedAt: number, expiresAt: number) {
    this.promptTokens = ask.promptTokens;
    this.outputTokens = ask.outputTokens;
    this.kind = ask.kind;
    this.stream = ask.stream;
    this.startedAt = startedAt;
    this.expiresAt = expiresAt;
  }
}

/** What there is to do. */
export type Work = Pick<Ask, 'promptTokens' | 'outputTokens' | 'kind' | 'stream'>;
