import type { Clock } from '../../core/ports/clock.ts';
import type { EpochStore } from '../../core/ports/epoch-store.ts';

/** `EpochStore` of memory: what this process holds it loses only with itself. */
export function createMemoryEpochStore({ clock }: { readonly clock: Pick<Clock, 'time'> }): EpochStore {
  return {
    look: async () => ({ id: '', at: clock.time(), loss: null, answer: null, steppedBackMs: 0 }),
    loss: async () => null,
    answer: async () => false,
  };
}
