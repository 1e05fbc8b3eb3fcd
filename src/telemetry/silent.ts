import type { Log, Metrics } from '../core/ports/telemetry.ts';

const nothing = (): void => {};

/** For commands that only read: what the parts they use would log is not theirs to say. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Likewise for figures. */
export const silentMetrics: Metrics = {
  request: nothing,
  streams: nothing,
  anomaly: nothing,
  storeState: nothing,
  quotaDenied: nothing,
  slots: nothing,
  queue: nothing,
  waited: nothing,
  queueRefused: nothing,
  rateShare: nothing,
  breaker: nothing,
  leftOut: nothing,
  spent: nothing,
  surge: nothing,
  surgeAction: nothing,
  affinity: nothing,
  classified: nothing,
  replayed: nothing,
  loadedTry: nothing,
};
