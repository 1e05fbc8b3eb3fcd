import type { Place } from '../decision.ts';
import type { Warm } from '../warm.ts';

/** What a try has to do. */
export interface TryWork {
  /** Id of the request that it is a try of. */
  readonly request: string;
  /** `chat.stream`, `embeddings`, …; `stream`: is it answered piece by piece? */
  readonly kind: string;
  readonly stream: boolean;
  readonly promptTokens: number;
  /** Tokens that the answer may have. */
  readonly outputTokens: number;
  /** What its deployment has warm for others from now on. */
  readonly warm: Warm;
  /** When it must be over, monotonic milliseconds. */
  readonly deadline: number;
}

/** How a try ended, as far as its deployment is to praise or to blame. */
export type TryOutcome =
  | { readonly kind: 'served'; readonly completionTokens: number }
  /** `status`: what it answered; null = nothing. `retryAfterMs`: when it wants to be asked again, as it says. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly retryAfterMs: number | null }
  /** The client left, or asked for what cannot be, or we ended it. */
  | { readonly kind: 'left' };

/** Follows one try from its begin. */
export interface WatchedTry {
  /** Must its model be loaded first? Null: its server always has it. */
  readonly isCold?: boolean | null;
  /** The first piece of a stream that means something. */
  firstToken(): void;
  /** Called once. */
  end(outcome: TryOutcome): void;
}

/** Takes the course of tries to whoever decides on the next ones; at once and without waiting. */
export interface TryWatch {
  begin(place: Place, work: TryWork): WatchedTry;
}
