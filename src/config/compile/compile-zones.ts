import type { Snapshot } from '../../core/snapshot.ts';
import type { ConfigDocument } from '../schema/document.ts';
import { zonesSection } from '../schema/zones.ts';

/** Nothing where zones are not told apart. */
export function compileZones({ zones, backends }: ConfigDocument): Pick<Snapshot, 'zones'> {
  if (zones === undefined && backends.every(({ zone }) => zone === 'hot')) return {};
  const rules = zones ?? zonesSection.parse({});
  return {
    zones: {
      batchTypes: new Set(rules.batch_types),
      hotBelow: rules.batch_uses_hot_below,
      spillAbove: rules.hot_uses_batch_above ?? null,
      retryAfterMs: rules.retry_after,
    },
  };
}
