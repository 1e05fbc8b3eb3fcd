import { NOTHING_WARM, type Warm } from '../core/warm.ts';
import type { Ask } from './target.ts';
import type { Shelf } from './shelf.ts';
import { unreadOf } from './warm-keys.ts';

/** Loading a model first is another kind of work: only others that load are a measure of how long that takes. */
export const coldKind = (kind: string): string => `${kind}.cold`;

let count = 0;

/** One try under way at a target, from the pick to its outcome. Times are milliseconds of one monotonic clock. */
export class Lease {
  /** Its own among all of this process. */
  readonly id = (count += 1);
  /** When the target got it; null = it was merely decided on so far. */
  startedAt: number | null = null;
  /** Tokens of the prompt that were not warm where it went. */
  readonly unreadTokens: number;
  outputTokens: number;
  readonly kind: string;
  readonly stream: boolean;
  /** What the target will have warm for it, and how much of that it had before. */
  readonly warm: Warm;
  readonly warmBefore: number;
  /** Its model has to be loaded first. */
  readonly isCold: boolean;
  /** As what it is asked for, whether cold or not. */
  readonly asked: string;
  /** When it counts as forgotten. */
  expiresAt: number;
  /** When the first piece of the answer came; null = not yet. */
  firstAt: number | null = null;
  isOver = false;
  /** The server of its model, where that is loaded when asked for. */
  shelf: Shelf | null = null;

  constructor(ask: Work, expiresAt: number, warmBefore = 0, isCold = false) {
    this.outputTokens = ask.outputTokens;
    this.isCold = isCold;
    this.asked = ask.kind;
    this.kind = isCold ? coldKind(ask.kind) : ask.kind;
    this.stream = ask.stream;
    this.warm = ask.warm ?? NOTHING_WARM;
    this.unreadTokens = unreadOf(ask.promptTokens, this.warm, warmBefore);
    this.warmBefore = warmBefore;
    this.expiresAt = expiresAt;
  }
}

/** What there is to do. */
export type Work = Pick<Ask, 'promptTokens' | 'outputTokens' | 'kind' | 'stream'> & {
  /** What will be warm where it is done: default: nothing. */
  readonly warm?: Warm;
};
