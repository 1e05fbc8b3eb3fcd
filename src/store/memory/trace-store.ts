import type { Clock } from '../../core/ports/clock.ts';
import type { RequestTrace, TraceStore } from '../../core/ports/trace-store.ts';

const PER_ID = 10;
const IDS = 10_000;

interface Entry {
  readonly traces: readonly string[];
  readonly forget: number;
}

/** Recent traces of this process; the oldest id goes first. */
export function createMemoryTraceStore({ clock }: { readonly clock: Clock }): TraceStore {
  const entries = new Map<string, Entry>();
  const live = (id: string): readonly string[] => {
    const entry = entries.get(id);
    return entry !== undefined && entry.forget > clock.time() ? entry.traces : [];
  };
  return {
    put: (shownId, trace, keepMs) => {
      const traces = [trace, ...live(shownId)].slice(0, PER_ID);
      entries.delete(shownId);
      entries.set(shownId, { traces, forget: clock.time() + keepMs });
      const oldest = entries.keys().next();
      if (entries.size > IDS && !oldest.done) entries.delete(oldest.value);
    },
    get: async (shownId) => live(shownId).map((text) => JSON.parse(text) as RequestTrace),
  };
}
