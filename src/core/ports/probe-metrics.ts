import type { Source } from '../finding.ts';

/** Figures of probes. */
export interface ProbeMetrics {
  /** How a look ended, by whoever probes. */
  looked(backend: string, kind: Source, up: boolean, seconds: number): void;
  /** This process probes no more: what it said is not to be shown on. */
  forget(): void;
  /** What a source makes of a deployment now, 0..1. */
  factor(deployment: string, source: Source, factor: number): void;
}
