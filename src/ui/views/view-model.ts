import type { Choice, Facts } from '../client/needs.ts';
import type { Status } from '../data/wire.ts';

/** What happened in the last minute, oldest first: one entry a look. */
export interface LiveTrail {
  readonly running: readonly number[];
  readonly requests: readonly number[];
  readonly tokens: readonly number[];
}

/** Entries of a trail. */
export const TRAIL = 30;

/** How wide drawings may be, in pixels: in a card over the whole width, and in one of two. */
export interface Room {
  readonly whole: number;
  readonly half: number;
}

/** What a view is made of. */
export interface ViewModel {
  readonly choice: Choice;
  readonly status: Status;
  readonly facts: Facts;
  readonly trail: LiveTrail;
  /** Unix milliseconds, by the server's clock. */
  readonly now: number;
  /** Starts of the days that were chosen. */
  readonly starts: readonly number[];
  readonly room: Room;
}
