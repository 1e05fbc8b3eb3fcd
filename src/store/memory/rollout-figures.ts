import type { RolloutFigureStore } from '../../core/ports/rollout.ts';
import type { RolloutFigures } from '../../core/rollout.ts';

/** `RolloutFigureStore` in this process. It keeps the latest roll-out's. */
export function createMemoryRolloutFigures(): RolloutFigureStore {
  let of = '';
  const said = new Map<string, RolloutFigures>();
  return {
    publish: async (rollout, holder, figures) => {
      if (rollout !== of) said.clear();
      of = rollout;
      said.set(holder, structuredClone(figures));
    },
    read: async (rollout) => (rollout === of ? [...said.values()].map((figures) => structuredClone(figures)) : []),
  };
}
