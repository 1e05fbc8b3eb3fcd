import { createHeap } from './heap.ts';

/**
 * Work that proceeds at the same pace for all items, as the tokens of one batch do. The pace may change at any time
 * at no cost a item: an item is done when the clock's own count of units reaches what it was at the start plus its work.
 */
export interface WorkClock<T> {
  readonly size: () => number;
  /** Counts up to `now` with the pace so far. To be called before every change. */
  readonly advance: (now: number) => void;
  /** Units a millisecond from now on; 0 stops. */
  readonly setPace: (pace: number) => void;
  readonly add: (item: T, units: number) => void;
  readonly remove: (item: T) => void;
  readonly items: () => readonly T[];
  /** When the next item is done if nothing changes, in virtual milliseconds; Infinity when nothing ever is. */
  readonly nextAt: () => number;
  /** An item that is done by now, or undefined. */
  readonly take: () => T | undefined;
}

/** Rounding of a sum of an hour's steps stays far below this, and a millionth of a token is no time. */
const ROUNDING = 1e-6;

export function createWorkClock<T>(): WorkClock<T> {
  const due = createHeap<T>();
  const dueAt = new Map<T, number>();
  let units = 0;
  let pace = 0;
  let at = 0;

  const dropRemoved = (): void => {
    // A removed item may have been added again with more work: only the entry of its newest work counts.
    for (let item = due.peek(); item !== undefined; item = due.peek()) {
      if (dueAt.get(item) === due.peekKey()) return;
      due.pop();
    }
  };

  return {
    size: () => dueAt.size,
    advance: (now) => {
      units += pace * (now - at);
      at = now;
    },
    setPace: (next) => {
      pace = next;
    },
    add: (item, work) => {
      dueAt.set(item, units + work);
      due.push(units + work, item);
    },
    remove: (item) => {
      if (dueAt.delete(item)) dropRemoved();
    },
    items: () => [...dueAt.keys()],
    nextAt: () => {
      if (dueAt.size === 0) return Infinity;
      const left = Math.max(0, due.peekKey() - units);
      if (left <= ROUNDING) return at;
      return pace === 0 ? Infinity : at + left / pace;
    },
    take: () => {
      if (dueAt.size === 0 || due.peekKey() - units > ROUNDING) return undefined;
      const item = due.pop();
      if (item !== undefined) dueAt.delete(item);
      dropRemoved();
      return item;
    },
  };
}
