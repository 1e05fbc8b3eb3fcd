import type { SinkPosition, SinkPositionStore } from '../../core/ports/sink-positions.ts';

/** `SinkPositionStore` in this process. */
export function createMemorySinkPositions(): SinkPositionStore {
  const sinks = new Map<string, { turn: number; tenants: Map<string, SinkPosition> }>();
  const of = (sink: string) => {
    const known = sinks.get(sink) ?? { turn: 0, tenants: new Map<string, SinkPosition>() };
    sinks.set(sink, known);
    return known;
  };
  return {
    load: async (sink) => ({ turn: of(sink).turn, tenants: new Map(of(sink).tenants) }),
    save: async (sink, turn, tenants) => {
      const known = of(sink);
      if (known.turn !== turn) return false;
      for (const [tenant, position] of tenants) known.tenants.set(tenant, position);
      return true;
    },
    rewind: async (sink, tenants) => {
      const known = of(sink);
      known.turn += 1;
      for (const [tenant, position] of tenants) {
        if (position === null) known.tenants.delete(tenant);
        else known.tenants.set(tenant, position);
      }
    },
  };
}
