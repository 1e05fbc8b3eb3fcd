import { Counter, Gauge, type Registry } from 'prom-client';
import type { RolloutMetrics } from '../core/ports/rollout.ts';

/** Figures of roll-outs for Prometheus. */
export function createRolloutMetrics({ registry }: { readonly registry: Registry }): RolloutMetrics {
  const registers = [registry];
  const percent = new Gauge({
    name: 'tokenlat_rollout_percent',
    help: 'Percent of the subjects that a new configuration serves; 0 while none is rolled out',
    registers,
    // Every worker knows the same one.
    aggregator: 'max',
  });
  const requests = new Counter({
    name: 'tokenlat_rollout_requests_total',
    help: 'Requests that were compared, by configuration (old, new) and outcome',
    labelNames: ['configuration', 'outcome'],
    registers,
  });
  const turns = new Counter({
    name: 'tokenlat_rollouts_total',
    help: 'Roll-outs that began or ended here, by what became of them',
    labelNames: ['status'],
    registers,
  });
  return {
    percent: (value) => percent.set(value),
    request: (configuration, outcome) => requests.inc({ configuration, outcome }),
    turned: (status) => turns.inc({ status }),
  };
}
