import { createHeap } from './heap.ts';

/** What is to happen, in virtual time. Actions of the same moment run in the order in which they were planned. */
export interface Agenda {
  /** Virtual milliseconds since the start. */
  readonly now: () => number;
  /** Plans an action for a moment that is not past. Gives a function that takes it back. */
  readonly at: (ms: number, action: () => void) => () => void;
  /** Runs until nothing is left, or until `isDone` says so after an action. */
  readonly run: (isDone: () => boolean) => void;
}

interface Entry {
  action: (() => void) | null;
}

export function createAgenda(): Agenda {
  const entries = createHeap<Entry>();
  let now = 0;
  return {
    now: () => now,
    at: (ms, action) => {
      const entry: Entry = { action };
      entries.push(Math.max(ms, now), entry);
      return () => {
        entry.action = null;
      };
    },
    run: (isDone) => {
      while (entries.size() > 0 && !isDone()) {
        const at = entries.peekKey();
        const action = entries.pop()?.action;
        if (action === null || action === undefined) continue;
        now = at;
        action();
      }
    },
  };
}
