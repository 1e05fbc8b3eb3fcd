import type { Value } from './measures.ts';

/** A figure that may be claimed. */
export interface Figure {
  /** What it is compared with, a dot, and its name. */
  readonly name: string;
  readonly meaning: string;
  readonly goal?: { readonly at_most: number } | { readonly at_least: number };
  /** On a machine with fewer cores the goal stays open: those who share them decide the figure. */
  readonly cores?: number;
  readonly value: Value;
}

const TITLES: Readonly<Record<string, string>> = {
  plain: 'plain chat',
  stream100: 'stream of 100 chunks',
  'prompt-8k': 'prompt of 8 KB',
  'prompt-1m': 'prompt of 1 MB',
};

interface Several {
  /** With the start of the name: what follows is the workload. */
  readonly name: string;
  readonly meaning: string;
  readonly suffix?: string;
  readonly workloads: readonly string[];
  readonly value: (workload: string) => Value;
}

/** One comparison under several workloads: a figure each. */
export function several({ name, meaning, suffix = '', workloads, value }: Several): readonly Figure[] {
  return workloads.map((workload) => ({
    name: `${name}_${workload.replace('-', '_')}${suffix}`,
    meaning: `${TITLES[workload] ?? workload}: ${meaning}`,
    value: value(workload),
  }));
}
