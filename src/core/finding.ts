/** Who may say something of a target from outside its tries. Each speaks for itself alone; the lowest factor counts. */
export const SOURCES = ['network', 'service', 'model', 'metrics', 'gpu', 'models'] as const;
export type Source = (typeof SOURCES)[number];

/** For these a target may be left out. The list is closed: headers, audit and metrics use it. */
export const OUT_REASONS = [
  'network_unreachable',
  'service_down',
  'model_unresponsive',
  'overheated',
  'gpu_fault',
] as const;
export type OutReason = (typeof OUT_REASONS)[number];

/** For these it merely gets less. */
export const LESS_REASONS = ['queue_long', 'cache_full', 'throttled'] as const;
/** These are told, and take nothing away: is the deployment's model loaded there? */
export const TOLD_REASONS = ['model_loaded', 'model_unloaded'] as const;
export type FindingReason = OutReason | (typeof LESS_REASONS)[number] | (typeof TOLD_REASONS)[number];

/** What one source says of a target; nothing at all where it is as it should be, or where nobody knows. */
export interface Finding {
  /** 0 = no requests, above it up to 1 = so healthy. 0 goes with one of `OUT_REASONS` only. */
  readonly factor: number;
  readonly reason: FindingReason;
  /** For people: figures, short. */
  readonly detail: string;
  /** Counts no longer then, milliseconds of the clock of decisions. */
  readonly until: number;
}

/** Where sources put what they found. Targets are named by their incarnation. */
export interface TargetFindings {
  /** Null takes back what the source said. */
  set(incarnation: string, source: Source, finding: Finding | null): void;
  /** What still counts. */
  get(incarnation: string, source: Source, now: number): Finding | null;
}

export function isOutReason(reason: string): reason is OutReason {
  return (OUT_REASONS as readonly string[]).includes(reason);
}

export function isFindingReason(reason: string): reason is FindingReason {
  return isOutReason(reason) || ([...LESS_REASONS, ...TOLD_REASONS] as readonly string[]).includes(reason);
}

export function isSource(name: string): name is Source {
  return (SOURCES as readonly string[]).includes(name);
}
