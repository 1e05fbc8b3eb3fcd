import { Gauge, Histogram, type Registry } from 'prom-client';
import type { ProbeMetrics } from '../core/ports/probe-metrics.ts';
import { createLabelBound } from './bounded-labels.ts';

/** Figures of probes for Prometheus. Each label takes at most `labelValues` values, then says `other`. */
export function createProbeMetrics({
  registry,
  labelValues,
}: {
  readonly registry: Registry;
  readonly labelValues: number;
}): ProbeMetrics {
  const registers = [registry];
  const up = new Gauge({
    name: 'tokenlat_probe_up',
    help: '1 where the last look at a backend went well; told by whoever probes',
    labelNames: ['backend', 'kind'],
    registers,
    // While nobody leads, every worker looks by itself.
    aggregator: 'min',
  });
  const took = new Histogram({
    name: 'tokenlat_probe_seconds',
    help: 'How long looks at backends took',
    labelNames: ['backend', 'kind'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
    registers,
  });
  const factors = new Gauge({
    name: 'tokenlat_target_factor',
    help: 'What probes make of a deployment: 0 nothing goes there, 1 all is well',
    labelNames: ['deployment', 'source'],
    registers,
    aggregator: 'min',
  });
  const backends = createLabelBound(labelValues);
  const deployments = createLabelBound(labelValues);
  return {
    looked(backend, kind, isUp, seconds) {
      const labels = { backend: backends(backend), kind };
      up.set(labels, isUp ? 1 : 0);
      took.observe(labels, seconds);
    },
    forget: () => up.reset(),
    factor: (deployment, source, factor) => factors.set({ deployment: deployments(deployment), source }, factor),
  };
}
