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
  const oldest = new Gauge({
    name: 'tokenlat_jobs_oldest_seconds',
    help: 'How long the oldest of the jobs waits that wait; 0 = none does',
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
      under.set({ state: 'failed' }, counts.failed);
      oldest.set((counts.oldestMs ?? 0) / 1000);
      bytes.set(counts.bytes);
    },
  };
}
