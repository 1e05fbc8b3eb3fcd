import { Counter, Gauge, type Registry } from 'prom-client';
import type { JobCounts } from '../core/ports/job-store.ts';

/** Figures of jobs for Prometheus. */
export interface JobMetrics {
  readonly ended: (outcome: string) => void;
  readonly under: (counts: JobCounts) => void;
}

/** The gauges are of all replicas together, as the last look of a worker found them. */
export function createJobMetrics({ registry }: { readonly registry: Registry }): JobMetrics {
  const registers = [registry];
  const total = new Counter({
    name: 'tokenlat_jobs_total',
    help: 'Jobs by what became of them here',
    labelNames: ['outcome'],
    registers,
  });
  const under = new Gauge({
    name: 'tokenlat_jobs',
    help: 'Jobs of all replicas by state',
    labelNames: ['state'],
    registers,
    aggregator: 'max',
  });
  const bytes = new Gauge({
    name: 'tokenlat_jobs_bytes',
    help: 'Requests of all jobs that wait or run, as they are kept',
    registers,
    aggregator: 'max',
  });
  return {
    ended: (outcome) => total.inc({ outcome }),
    under(counts) {
      under.set({ state: 'queued' }, counts.queued);
      under.set({ state: 'running' }, counts.running);
      bytes.set(counts.bytes);
    },
  };
}
