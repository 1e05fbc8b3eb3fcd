import type { Clock } from '../../core/ports/clock.ts';
import type { LiveStore, WorkerLive } from '../../core/ports/live.ts';

/** `LiveStore` in this process: it sees the workers of this process alone. */
export function createMemoryLiveStore({ clock }: { readonly clock: Pick<Clock, 'time'> }): LiveStore {
  const said = new Map<string, { readonly state: WorkerLive; readonly until: number }>();
  const nameOf = (replica: string, worker: number): string => `${worker} ${replica}`;
  return {
    publish: async (state, keepMs) => {
      said.set(nameOf(state.replica, state.worker), { state: structuredClone(state), until: clock.time() + keepMs });
    },
    read: async () => {
      for (const [name, { until }] of said) if (until <= clock.time()) said.delete(name);
      return [...said.values()].map(({ state }) => structuredClone(state));
    },
    leave: async (replica, worker) => {
      said.delete(nameOf(replica, worker));
    },
  };
}
